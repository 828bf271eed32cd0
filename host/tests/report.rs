//! `coalesce report`: a page and a picture from records that the repository keeps.

#[path = "support/outcome.rs"]
mod support;
#[path = "support/without_driver.rs"]
mod without_driver;

use std::fs;
use support::{Outcome, outcome};
use without_driver::coalesce;

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

/// README's picture is the one that its records make.
#[test]
fn the_picture_of_readme_is_made_of_records() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let (_, picture) =
        report(&[&format!("{docs}/results/sim-c870/records.jsonl"), "--picture", "offset,stride"]);
    let kept = fs::read_to_string(format!("{docs}/pictures/offset-stride.svg")).expect("README's picture");
    assert!(
        picture == Some(kept),
        "docs/pictures/offset-stride.svg is outdated: `cargo xtask report docs/results/h200/records.jsonl \
         docs/results/sim-c870/records.jsonl --picture offset,stride --out docs/pictures/offset-stride.svg` draws it again"
    );
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
