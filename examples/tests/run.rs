//! Runs each example on the simulated driver and compares what it says.

use std::process::Command;

/// What a program prints on simulated cards, named as `COALESCE_SIMULATE` takes them.
fn said(program: &str, cards: &str) -> String {
    let output = Command::new(program)
        .env_remove("COALESCE_DRIVER")
        .env("COALESCE_SIMULATE", cards)
        .env("COALESCE_CHECK", "all")
        .output()
        .expect("the example starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {stderr}");
    assert!(stderr.contains("= ERROR SUMMARY: 0 errors\n"), "{program}: {stderr}");
    assert!(stderr.contains("= RACECHECK SUMMARY: 0 hazards"), "{program}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

macro_rules! examples {
    ($($test:ident: $program:literal on $cards:literal says $expected:expr;)*) => {$(
        #[test]
        fn $test() {
            assert_eq!(said(env!(concat!("CARGO_BIN_EXE_", $program)), $cards), $expected);
        }
    )*};
}

examples! {
    saxpy: "01_saxpy" on "h200" says "2 x + y = [12.0, 24.0, 36.0, 48.0]\n";
    shared_memory: "02_shared_memory" on "h200" says "100 x 70 transposed: all elements right\n";
    streams_and_events: "03_streams_and_events" on "h200"
        says "three launches on one stream: 3, one on the other: 5\nthe three took time\n";
    managed_memory: "04_managed_memory" on "h200" says "10 x + y = [10.5, 20.5, 130.0]\n";
    graph: "05_graph" on "h200" says "25 x 4 launches: 100\n";
    struct_arguments: "06_struct_arguments" on "h200" says "[-40.0, 32.0, 99.5, 212.0]\n";
    vec: "08_vec" on "h200" says "primes up to 10: 4, up to 100: 25, up to 127: 31\n";
    matrix_product: "10_matrix_product" on "h200"
        says "these kernels run on an NVIDIA GPU of compute capability 9.0; not on this NVIDIA H200 (modelled)\n";
    two_cards: "09_two_cards" on "h200,h200" says "two cards\nfirst half 4, second half 7\n";
    one_card: "09_two_cards" on "h200" says "one card, which does both halves\nfirst half 4, second half 7\n";
}

#[test]
fn printing() {
    let text = said(env!("CARGO_BIN_EXE_07_printing"), "h200");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["hello from block 0 of 3", "hello from block 1 of 3", "hello from block 2 of 3"]);
}

/// A program that names no driver is bound to the simulated one at its first call, which has to end with it as well.
#[test]
fn the_profile_of_an_example_ends_in_a_table() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_01_saxpy"))
        .env_remove("COALESCE_DRIVER")
        .env("COALESCE_SIMULATE", "h200")
        .env("COALESCE_PROFILE", &file)
        .output()
        .expect("the example starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let records = std::fs::read_to_string(&file).expect("a record of each launch");
    assert_eq!(records.lines().count(), 1, "{records}");
    assert!(records.contains(r#""kernel":"saxpy""#), "{records}");
    assert!(stderr.contains("==PROF== 1 launch on "), "{stderr}");
    assert!(stderr.lines().any(|line| line.starts_with("saxpy ")), "{stderr}");
}
