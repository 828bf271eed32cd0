//! `coalesce report`: a page and a picture from records that the repository keeps.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, outcome};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Rows of an H200.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results/h200/records.jsonl");

/// Reports them into a file, and gives what was written there.
fn report(arguments: &[&str]) -> (Outcome, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made");
    let name = path.to_str().expect("a path in UTF-8");
    let outcome = outcome(&mut coalesce(&[&["report", RECORDS, "--out", name], arguments].concat()));
    (outcome, fs::read_to_string(path).ok())
}

#[test]
fn records_become_a_page() {
    let (Outcome { status, err, .. }, page) = report(&[]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let page = page.expect("the page was written");
    for part in [
        "<h1>Memory behaviour: NVIDIA H200 (measured)</h1>",
        "id=\"lesson-stride\"",
        "id=\"kernel-offset_f32\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("ld.global.b32"), "the kernels' PTX is on the page");
}

/// Any program's launches, here those of this one.
#[test]
fn a_profile_becomes_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let (profile, page) = (folder.path().join("launches.jsonl"), folder.path().join("launches.html"));
    let words = ["run", "stride", "--small", "--precision", "f32", "--range", "4", "--device", "sim:h200"];
    let run = outcome(coalesce(&words).env("COALESCE_PROFILE", &profile));
    assert_eq!(run.status, Some(0), "{}", run.err);

    let name = profile.to_str().expect("UTF-8");
    let Outcome { status, out, err, .. } = outcome(&mut coalesce(&["report", name]));
    assert_eq!((status, err.as_str(), out.trim()), (Some(0), "", page.to_str().expect("UTF-8")));
    let page = fs::read_to_string(page).expect("the page");
    let kernel = page.split("id=\"kernel-h200-stride_f32\"").nth(1).expect("the kernel's section");
    // Four bytes per lane at a stride of four: each sector of 32 bytes holds two lanes' elements.
    assert!(kernel.contains("Loads and stores touch 16 sectors per request, 25% of each used"), "{kernel}");
    assert!(kernel.contains("(16 per request), 25% efficient"), "{kernel}");
    assert!(kernel.contains("a.update(thread.own(), |a| a + T::ONE);"), "the source of the line");
    let worst = kernel.split("data-addresses=\"").nth(1).expect("its worst request");
    assert!(worst.starts_with("0 16 32 48 64 "), "{worst}");

    let two = outcome(&mut coalesce(&["report", name, RECORDS]));
    assert_eq!(two.status, Some(1));
    assert!(two.err.contains("a profile is reported by itself"), "{}", two.err);
}

/// Programs that stand for ptxas and nvdisasm: the second prints what nvdisasm 13.5 prints of one kernel.
#[test]
fn sass_is_shown_where_ptxas_and_nvdisasm_are_at_hand() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../xtask/ptx/fixtures/offset_f32.sass");
    // What is kept of the tools' work is found again by their version.
    let version = format!("0.0.{}", fs::metadata(fixture).expect("the fixture").len());
    let folder = tempfile::tempdir().expect("a folder");
    let tool = |name: &str, otherwise: &str| {
        let path = folder.path().join(name);
        let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo V{version} && exit\n{otherwise}\n");
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be executed");
        path
    };
    let page = |ptxas: &Path, nvdisasm: &Path| {
        let out = folder.path().join("page.html");
        let mut command = coalesce(&["report", RECORDS, "--out", out.to_str().expect("UTF-8")]);
        let outcome = outcome(command.env("PTXAS", ptxas).env("NVDISASM", nvdisasm));
        (outcome, fs::read_to_string(out).expect("the page"))
    };
    let ptxas = tool("ptxas", "exit 0");
    let (Outcome { status, err, .. }, with) = page(&ptxas, &tool("nvdisasm", &format!("cat '{fixture}'")));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(with.contains(&format!("The SASS is that of ptxas {version} for sm_90 and sm_90a.")));
    let kernel = with.split("id=\"kernel-offset_f32\"").nth(1).expect("the kernel");
    let sass = kernel.split("SASS</summary>").nth(1).and_then(|rest| rest.split("</details>").next());
    let update =
        sass.and_then(|sass| sass.split("S42\" data-line=\"42\">").nth(1)).expect("the update's code");
    assert!(update.contains("\nLDG.E R0, desc[UR4][R2.64]\n"), "{update}");

    let (Outcome { status, err, .. }, without) = page(&ptxas, &folder.path().join("absent"));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(without.contains("There is no SASS, since ptxas and nvdisasm were not found"));
    assert!(!without.contains("SASS</summary>"));
}

/// Pictures of the documentation are those that its records make.
#[test]
fn the_pictures_of_the_documentation_are_made_of_records() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let folder = tempfile::tempdir().expect("a folder");
    let drawn = folder.path().join("picture.svg");
    let drawn_name = drawn.to_str().expect("a path in UTF-8");
    for (records, experiments, picture) in [
        (&["h200/records.jsonl", "sim-c870/records.jsonl"][..], "offset,stride", "offset-stride.svg"),
        (&["h200/matmul.jsonl"], "matmul", "matmul.svg"),
    ] {
        let paths: Vec<_> = records.iter().map(|name| format!("{docs}/results/{name}")).collect();
        let mut arguments = vec!["report"];
        arguments.extend(paths.iter().map(String::as_str));
        arguments.extend(["--picture", experiments, "--out", drawn_name]);
        let Outcome { status, err, .. } = outcome(&mut coalesce(&arguments));
        assert_eq!((status, err.as_str()), (Some(0), ""));
        let kept = fs::read_to_string(format!("{docs}/pictures/{picture}")).expect("a picture");
        assert!(
            fs::read_to_string(&drawn).expect("it was drawn") == kept,
            "docs/pictures/{picture} is outdated: `cargo xtask report {} --picture {experiments} --out \
             docs/pictures/{picture}` draws it again",
            records.iter().map(|name| format!("docs/results/{name}")).collect::<Vec<_>>().join(" "),
        );
        fs::remove_file(&drawn).expect("it is there");
    }
}

#[test]
fn curves_become_a_picture() {
    let (Outcome { status, err, .. }, picture) = report(&["--picture", "offset,stride"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let picture = picture.expect("the picture was written");
    assert!(picture.starts_with("<svg xmlns=") && picture.contains(">Effective bandwidth over stride<"));

    let (Outcome { status, err, .. }, picture) = report(&["--picture", "copy"]);
    assert_eq!((status, picture), (Some(1), None));
    assert!(
        err.contains("`--picture copy` is not drawn as curves; in these records offset, stride can be"),
        "{err}"
    );
}
