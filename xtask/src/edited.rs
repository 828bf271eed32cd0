//! Running an edited kernel at once.
//!
//! Cargo compiles all of `coalesce` again when a line of a kernel changes, because `coalesce` depends on `gpu-kernels` for
//! signatures, contracts and constants. That takes half a minute. But what the program was compiled with is the
//! [interface](crate::interface) of the kernels, without their bodies. So this module keeps a [`Stamp`] of every
//! file that the program was made of. Where the interface is the same and only bodies differ, the program that is there runs, and
//! compiles the kernels that it launches with the build script of its own package (`host/src/kernels/edited.rs`).
//!
//! Files are compared by their contents, as listed in the dependency file that cargo writes beside the program, along with the
//! manifests and the variables that decide what cargo builds. Every doubtful case takes the long way.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::interface;

/// The folder with the bodies of kernels, below the workspace's root.
const KERNELS: &str = "gpu-kernels/src";

/// Prefixes of the environment variables that change what cargo builds.
const VARIABLES: [&str; 4] = ["CARGO_BUILD_", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PROFILE_", "RUST"];

/// Identifies the sources that a program was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    /// Of everything but the bodies of kernels.
    interface: u64,
    /// Of the bodies as well.
    whole: u64,
    /// Of the program itself, which may be built without us.
    program: u64,
    /// The build script that compiles kernels.
    builder: PathBuf,
}

/// The way to use a program that was built before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// As it is.
    AsItIs,
    /// With the kernels of a run compiled by this program.
    WithKernelsOf(PathBuf),
}

/// Says how the program can be used without asking cargo; `None` where cargo has to build it.
pub(crate) fn usable(root: &Path, program: &Path) -> Option<Use> {
    let kept = Stamp::read(&stamp_file(program))?;
    let (interface, whole) = fingerprint(root, &inputs(root, program)?)?;
    if kept.interface != interface || kept.program != of_file(program)? {
        return None;
    }
    if kept.whole == whole {
        return Some(Use::AsItIs);
    }
    kept.builder.is_file().then_some(Use::WithKernelsOf(kept.builder))
}

/// Keeps the stamp of a program that cargo has brought up to date since `start`.
///
/// Keeps nothing if a file changed meanwhile: it is unknown which of the two versions the program was made of. A failed
/// write is no error, since the next run then asks cargo.
pub(crate) fn keep(root: &Path, program: &Path, builder: &Path, start: SystemTime) {
    let file = stamp_file(program);
    let _ = std::fs::remove_file(&file);
    let changed = |path: &PathBuf| {
        std::fs::metadata(path).and_then(|data| data.modified()).map_or(true, |modified| modified >= start)
    };
    let stamp = inputs(root, program).filter(|inputs| !inputs.iter().any(changed)).and_then(|inputs| {
        let (interface, whole) = fingerprint(root, &inputs)?;
        Some(Stamp { interface, whole, program: of_file(program)?, builder: builder.to_owned() })
    });
    if let Some(stamp) = stamp {
        let _ = std::fs::write(file, stamp.text());
    }
}

fn stamp_file(program: &Path) -> PathBuf {
    program.with_extension("stamp")
}

impl Stamp {
    fn text(&self) -> String {
        format!("{}\n{}\n{}\n{}\n", self.interface, self.whole, self.program, self.builder.display())
    }

    fn read(file: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok()?;
        let mut lines = text.lines();
        let mut number = || lines.next()?.parse().ok();
        let (interface, whole, program) = (number()?, number()?, number()?);
        Some(Self { interface, whole, program, builder: lines.next()?.into() })
    }
}

/// Hashes a program's sources, without and with the bodies of kernels.
fn fingerprint(root: &Path, inputs: &BTreeSet<PathBuf>) -> Option<(u64, u64)> {
    let kernels = std::fs::canonicalize(root.join(KERNELS)).ok()?;
    let (mut interface, mut whole) = (DefaultHasher::new(), DefaultHasher::new());
    for path in inputs {
        let source = std::fs::read(path).ok()?;
        (path, &source).hash(&mut whole);
        match std::str::from_utf8(&source) {
            Ok(source) if path.starts_with(&kernels) => (path, interface::of(source)).hash(&mut interface),
            _ => (path, &source).hash(&mut interface),
        }
    }
    for (name, value) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| VARIABLES.iter().any(|prefix| name.starts_with(prefix))) {
            (&name, &value).hash(&mut interface);
        }
    }
    Some((interface.finish(), whole.finish()))
}

/// The hash of a file's time and length, which tell whether a program was built again.
fn of_file(path: &Path) -> Option<u64> {
    let data = std::fs::metadata(path).ok()?;
    let mut hasher = DefaultHasher::new();
    (data.modified().ok()?, data.len()).hash(&mut hasher);
    Some(hasher.finish())
}

/// The files of the workspace that the program was made of: those in its dependency file, and manifests.
fn inputs(root: &Path, program: &Path) -> Option<BTreeSet<PathBuf>> {
    let listed = std::fs::read_to_string(program.with_extension("d")).ok()?;
    let (_, listed) = listed.split_once(": ")?;
    let target = &std::fs::canonicalize(program.parent()?.parent()?).ok()?;
    let root = &std::fs::canonicalize(root).ok()?;
    let mut inputs = BTreeSet::new();
    for path in unescaped(listed.trim_end()) {
        // cargo lists the build script's files by a path through its package: `host/./../gpu-kernels/src`.
        let path = std::fs::canonicalize(path).ok()?;
        // Folders are listed for files that come and go, which shows in a file that names them.
        if path.starts_with(target) || path.is_dir() {
            continue;
        }
        // Checkouts may share a target folder: the program may then belong to another one.
        if !path.starts_with(root) {
            return None;
        }
        let manifests = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        inputs
            .extend(manifests.map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file()));
        inputs.insert(path);
    }
    let of_root = ["Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"].map(|name| root.join(name));
    inputs.extend(of_root.into_iter().filter(|path| path.is_file()));
    Some(inputs)
}

/// The paths of a dependency file, in which a blank inside a path follows a backslash.
fn unescaped(list: &str) -> impl Iterator<Item = PathBuf> {
    let marked = list.replace("\\ ", "\0");
    marked.split(' ').map(|path| path.replace('\0', " ").into()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const KERNEL: &str = "pub const TILE: usize = 32;\n#[kernel]\npub fn copy() { one() }\n";

    /// A workspace with a program built from it, and the program's stamp.
    struct Workspace {
        root: tempfile::TempDir,
    }

    impl Workspace {
        fn new() -> Self {
            let new = Self { root: tempfile::tempdir().unwrap() };
            new.write("Cargo.toml", "[workspace]");
            new.write("Cargo.lock", "");
            new.write("gpu-kernels/Cargo.toml", "[package]");
            new.write("gpu-kernels/src/lib.rs", KERNEL);
            new.write("a host/src/main.rs", "fn main() {}");
            new.write("target/release/coalesce", "program");
            new.write("target/release/script", "builder");
            new.write("target/release/build/out/kernels.ptx", "");
            let root = new.path("").display().to_string();
            let list = format!(
                "{root}/target/release/coalesce: {root}/a\\ host/src/main.rs {root}/a\\ host/../gpu-kernels/src \
                 {root}/gpu-kernels/src/lib.rs {root}/target/release/build/out/kernels.ptx\n"
            );
            new.write("target/release/coalesce.d", &list);
            new.keep(SystemTime::now() + Duration::from_secs(1));
            new
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn keep(&self, start: SystemTime) {
            let (program, script) =
                (self.path("target/release/coalesce"), self.path("target/release/script"));
            keep(self.root.path(), &program, &script, start);
        }

        fn usable(&self) -> Option<Use> {
            usable(self.root.path(), &self.path("target/release/coalesce"))
        }
    }

    #[test]
    fn a_program_is_used_as_long_as_only_bodies_of_kernels_change() {
        let workspace = Workspace::new();
        assert_eq!(workspace.usable(), Some(Use::AsItIs));
        workspace.write("gpu-kernels/src/lib.rs", &KERNEL.replace("one()", "two()"));
        assert_eq!(workspace.usable(), Some(Use::WithKernelsOf(workspace.path("target/release/script"))));
        workspace.write("gpu-kernels/src/lib.rs", KERNEL);
        assert_eq!(workspace.usable(), Some(Use::AsItIs));
    }

    #[test]
    fn whatever_else_changes_is_built_by_cargo() {
        let changes = [
            ("gpu-kernels/src/lib.rs", KERNEL.replace("32", "16")),
            ("a host/src/main.rs", "fn main() { run() }".to_owned()),
            ("Cargo.lock", "[[package]]".to_owned()),
            ("gpu-kernels/Cargo.toml", "[package]\nname".to_owned()),
            ("rust-toolchain.toml", "[toolchain]".to_owned()),
            ("target/release/coalesce", "another program".to_owned()),
        ];
        for (name, text) in changes {
            let workspace = Workspace::new();
            workspace.write(name, &text);
            assert_eq!(workspace.usable(), None, "{name}");
        }
        let workspace = Workspace::new();
        std::fs::remove_file(workspace.path("a host/src/main.rs")).unwrap();
        assert_eq!(workspace.usable(), None);
    }

    #[test]
    fn no_stamp_is_kept_of_files_that_changed_during_the_build() {
        let workspace = Workspace::new();
        workspace.keep(SystemTime::now() - Duration::from_secs(60));
        assert_eq!(workspace.usable(), None);
    }

    #[test]
    fn the_program_of_another_checkout_is_not_used() {
        let (one, other) = (Workspace::new(), Workspace::new());
        assert_eq!(usable(other.root.path(), &one.path("target/release/coalesce")), None);
    }
}
