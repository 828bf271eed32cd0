//! The stencil on a simulated card: both homes of its coefficients, any block, any length.

use crate::support::records::{number, records, refusal};

#[test]
fn any_length_and_any_block_of_whole_warps_verify() {
    for bytes in ["4", "124", "4096", "20004"] {
        let records = records(&["stencil", "--bytes", bytes, "--block", "32,96,256,1024"]);
        // Four blocks of three kernels, or of two where the elements are not whole vectors.
        let whole = bytes.parse::<u32>().expect("a number").is_multiple_of(16);
        assert_eq!(records.len(), if whole { 12 } else { 8 });
        for record in &records {
            let elements = number(record, "parameters.elements");
            let results = if record["kernel"] == "stencil_vector" { 4.0 } else { 1.0 };
            assert_eq!(number(record, "bytes.read"), 4.0 * (elements + 8.0));
            assert_eq!(number(record, "bytes.written"), 4.0 * elements);
            let (grid, block) = (number(record, "parameters.grid"), number(record, "parameters.block"));
            let threads = elements / results;
            assert!(grid * block >= threads && (grid - 1.0) * block < threads);
        }
    }
}

#[test]
fn a_block_reads_its_elements_and_eight_more() {
    let records =
        records(&["stencil", "--kernel", "stencil_constant", "--bytes", "32KiB", "--block", "32,256"]);
    for record in &records {
        // A lane for each element, and eight for the halo.
        let blocks = number(record, "parameters.grid");
        let asked = number(record, "counters.total.loads.bytes_requested");
        assert_eq!(asked, 4.0 * (8192.0 + 8.0 * blocks), "{record}");
    }
}

#[test]
fn coefficients_are_the_user_s_where_there_are_four() {
    let records = records(&["stencil", "--bytes", "4KiB", "--coefficients", "1,-0.5,0,3e2"]);
    assert_eq!(records.len(), 6);
    for record in &records {
        assert_eq!(record["parameters"]["coefficients"], serde_json::json!([1.0, -0.5, 0.0, 300.0]));
    }
    for (coefficients, says) in [
        ("1", "has 1 number, and the stencil takes exactly 4"),
        ("1,2,3", "has 3 numbers"),
        ("1,2,3,4,5", "has 5 numbers"),
        ("1,2,3,inf", "'inf' is not a number"),
        ("1,2,3,x", "'x' is not a number"),
    ] {
        let error = refusal(&["stencil", "--coefficients", coefficients]);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_cannot_be_launched_says_what_can() {
    for (arguments, says) in [
        (["stencil", "--block", "100"], "the nearest are 96 and 128"),
        (["stencil", "--block", "2048"], "1..=1024"),
        (
            ["stencil", "--bytes", "6"],
            "`--bytes 6` is not a multiple of 4, which stencil needs; the nearest are 4 and 8",
        ),
        (["stencil", "--block", "32x8"], "have one, as in --block 256"),
        (["stencil", "--tile", "16"], "--tile has nothing to act on"),
    ] {
        let error = refusal(&arguments);
        assert!(error.contains(says), "{error}");
    }
}
