use super::*;

/// The repository that this program is built from.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A copy of as much of the repository as a new kernel is made beside.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Copy {
        let root = std::env::temp_dir().join(format!("xtask-new-kernel-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for folder in ["gpu-kernels/src", "host/src/experiments", "host/tests", "reference"] {
            copy(&repository().join(folder), &root.join(folder));
        }
        for file in ["rustfmt.toml", "gpu-kernels/Cargo.toml", "host/Cargo.toml", EXPERIMENTS] {
            let _ = fs::copy(repository().join(file), root.join(file)).unwrap();
        }
        Copy(root)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    /// Every file with its text.
    fn all(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut open = vec![self.0.clone()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let text = fs::read(&path).unwrap();
                    files.push((path, text));
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            let _ = fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn a_kernel_an_experiment_a_twin_and_a_test_are_made() {
    let copy = Copy::new("made");
    let before = copy.all().len();
    let changes = changes(&copy.0, "scale_rows").unwrap();
    write(&copy.0, &changes).unwrap();
    assert_eq!(copy.all().len(), before + 4);
    for (path, needles) in [
        (
            "gpu-kernels/src/scale_rows.rs",
            &[
                "#[kernel(requires(threads.x >= source.len()))]\npub fn scale_rows_f32(",
                "source: In<f32, Each<N>>",
                "// PTX: contains",
            ][..],
        ),
        (
            "host/src/experiments/scale_rows.rs",
            &["Work::kernel::<scale_rows_f32>", "impl Experiment for Lesson", "Expected::exactly"],
        ),
        ("reference/scale_rows.cu", &["extern \"C\" __global__ void scale_rows_f32(const float"]),
        ("host/tests/commands/scale_rows.rs", &["\"scale_rows\", \"--bytes\"", "\"check\", \"scale_rows\""]),
        ("gpu-kernels/src/lib.rs", &["\npub mod scale_rows;\n"]),
        ("host/tests/commands/main.rs", &["\nmod scale_rows;\n"]),
        ("host/src/experiments.rs", &["\nmod scale_rows;\n", "&scale_rows::Lesson"]),
    ] {
        let text = copy.read(path);
        for needle in needles {
            assert!(text.contains(needle), "{path} lacks {needle}:\n{text}");
        }
        assert!(!text.contains(PLACEHOLDER), "{path}:\n{text}");
        assert!(!text.contains("unsafe {") && !text.contains("unsafe fn"), "{path}:\n{text}");
        if path.ends_with(".rs") {
            assert_eq!(formatted(&copy.0, &text).unwrap(), text, "{path} is laid out");
        }
    }
    // All that changes in the shared files is the module and the entry in the list.
    let old = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    assert_eq!(copy.read(KERNELS).replace("pub mod scale_rows;\n", ""), old(KERNELS));
    assert_eq!(copy.read(TESTS).replace("mod scale_rows;\n", ""), old(TESTS));
    let without_list = |text: &str| {
        let (before, rest) = text.split_once("static ALL: ").unwrap();
        format!("{before}{}", rest.split_once("];").unwrap().1)
    };
    let new = copy.read(EXPERIMENTS).replace("\nmod scale_rows;\n", "\n");
    assert_eq!(without_list(&new), without_list(&old(EXPERIMENTS)));
    // A second one goes beside it, and the same one again is refused.
    let second = self::changes(&copy.0, "scale_columns").unwrap();
    write(&copy.0, &second).unwrap();
    let list = copy.read(EXPERIMENTS);
    assert!(list.contains("&scale_rows::Lesson") && list.contains("&scale_columns::Lesson"), "{list}");
    assert!(self::changes(&copy.0, "scale_rows").is_err());
}

#[test]
fn what_is_refused_says_why_and_changes_nothing() {
    let copy = Copy::new("refused");
    let before = copy.all();
    for (name, says) in [
        ("", "it is empty"),
        ("ScaleRows", "as in `scale_rows`"),
        ("scale-rows", "as in `scale_rows`"),
        ("scale__rows", "as in `scale_rows`"),
        ("_scale", "as in `scale`"),
        ("scale_", "as in `scale`"),
        ("2d_scale", "as in `d_scale`"),
        ("größe", "snake case"),
        ("../scale", "as in `scale`"),
        ("match", "`match_kernel` is possible"),
        ("self", "is a word of Rust"),
        ("gen", "is a word of Rust"),
        ("core", "is a word of Rust"),
        ("a_name_of_which_nobody_will_ever_remember_the_end", "has 49 characters; the limit is 40"),
        ("copy", "`copy` is taken: gpu-kernels/src/copy.rs exists"),
        ("unchecked", "gpu-kernels/src/unchecked.rs exists"),
        ("cli", "host/tests/commands/cli.rs exists"),
        ("support", "host/tests/commands/support.rs exists"),
        ("stride", "names something \"stride\""),
        ("fill", "gpu-kernels/src/fill.rs exists"),
        ("cust", "host has a dependency of that name"),
        ("bytemuck", "imports something of that name"),
    ] {
        let error = changes(&copy.0, name).expect_err(name).to_string();
        assert!(error.contains(says), "{name}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(copy.all() == before, "a refusal leaves the files as they are");
}

#[test]
fn what_cannot_be_written_is_undone() {
    let copy = Copy::new("undone");
    let changes = changes(&copy.0, "scale_rows").unwrap();
    fs::remove_dir_all(copy.0.join("host/tests")).unwrap();
    let before = copy.all();
    let error = write(&copy.0, &changes).unwrap_err().to_string();
    assert_eq!(error, "cannot write host/tests/commands/scale_rows.rs; no file was changed");
    assert!(copy.all() == before, "what was written is gone again");
}

#[test]
fn modules_stay_in_order() {
    let text = "//! Docs.\n\npub mod b;\npub mod d;\n\nmod a;\n";
    let with = |name| with_module(text, "pub mod ", name).unwrap();
    assert_eq!(with("a"), "//! Docs.\n\npub mod a;\npub mod b;\npub mod d;\n\nmod a;\n");
    assert_eq!(with("c"), "//! Docs.\n\npub mod b;\npub mod c;\npub mod d;\n\nmod a;\n");
    assert_eq!(with("e"), "//! Docs.\n\npub mod b;\npub mod d;\npub mod e;\n\nmod a;\n");
    assert_eq!(with_module("fn main() {}\n", "mod ", "a"), None);
}

#[test]
fn the_list_grows_in_any_form() {
    let grown = |text: &str| with_experiment(text, "new").unwrap();
    assert_eq!(
        grown("static ALL: [&dyn Experiment; 2] = [&a::A, &b::B];\nrest"),
        "static ALL: [&dyn Experiment; 3] = [&a::A, &b::B, &new::Lesson];\nrest"
    );
    assert_eq!(
        grown("x\nstatic ALL: [&dyn Experiment; 9] = [\n    &a::A,\n    &b::B,\n];\nrest"),
        "x\nstatic ALL: [&dyn Experiment; 10] = [\n    &a::A,\n    &b::B, &new::Lesson];\nrest"
    );
    assert_eq!(
        grown("static ALL: [&dyn Experiment; 1] =\n    [&a::A];"),
        "static ALL: [&dyn Experiment; 2] = [&a::A, &new::Lesson];"
    );
    assert_eq!(
        grown("static ALL: &[&dyn Experiment] = &[&a::A];"),
        "static ALL: &[&dyn Experiment] = &[&a::A, &new::Lesson];"
    );
    assert_eq!(with_experiment("static SOME: u8 = 1;", "new"), None);
}

#[test]
fn imports_are_the_words_of_use_declarations() {
    let text = "//! use nothing;\nuse a::{b, c::{self, D}};\nfn f() {}\npub(crate) use self::{e::E, g};\n";
    let words: Vec<&str> = imports(text).filter(|word| !word.is_empty()).collect();
    for word in ["a", "b", "c", "D", "e", "E", "g"] {
        assert!(words.contains(&word), "{word} in {words:?}");
    }
    assert!(!words.contains(&"nothing") && !words.contains(&"f"), "{words:?}");
}
