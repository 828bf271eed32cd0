//! The transposes on the simulated driver, from arguments to records.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, failure, misuse, outcome};
use serde_json::Value;

/// The records of a run, of one launch each unless it is to be timed.
fn run(card: &str, timed: bool, arguments: &[&str]) -> Vec<Value> {
    let device = format!("sim:{card}");
    let once: &[&str] = if timed { &[] } else { &["--once"] };
    let all = [&["run", "transpose", "--device", &device, "--format", "json"][..], once, arguments].concat();
    let Outcome { status, out, err } = outcome(&mut coalesce(&all));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{all:?}");
    out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

/// Sectors of each load's and each store's request, and shared wavefronts over what would be ideal.
fn shape(record: &Value) -> (f64, f64, f64) {
    let total = &record["counters"]["total"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let each = |kind: &str| number(&total[kind]["sectors"]) / number(&total[kind]["requests"]);
    let shared = |field: &str| number(&total["shared_loads"][field]) + number(&total["shared_stores"][field]);
    (
        each("loads"),
        each("stores"),
        if shared("ideal") > 0.0 { shared("wavefronts") / shared("ideal") } else { 0.0 },
    )
}

/// All kernels, and the one with a padding twice.
const ROWS: usize = 15;

#[test]
fn any_matrix_comes_out_transposed() {
    // Squares, rows of a block and of less, multiples of 4 and none, diagonal grids that are wide, high and square.
    for (nx, ny) in
        [("64", "64"), ("1", "1"), ("300", "1"), ("1", "300"), ("77", "301"), ("260", "36"), ("33", "31")]
    {
        let records = run("h200", false, &["--nx", nx, "--ny", ny]);
        assert_eq!(records.len(), ROWS, "{nx} x {ny}");
        for record in records {
            assert_eq!(record["verified"], true, "{nx} x {ny}: {record}");
            assert_eq!(record["parameters"]["nx"].to_string(), nx);
            assert_eq!(record["parameters"]["ny"].to_string(), ny);
            let bytes = 4 * nx.parse::<u64>().expect("a number") * ny.parse::<u64>().expect("a number");
            assert_eq!(
                (&record["bytes"]["read"], &record["bytes"]["written"]),
                (&bytes.into(), &bytes.into())
            );
        }
    }
}

#[test]
fn any_block_will_do_where_the_kernel_leaves_the_choice() {
    let kernels = "copy_row,copy_col,naive_row,naive_col,unroll4_row,unroll4_col,diagonal_row,diagonal_col,tile_dynamic";
    let blocks = "1x1,32x1,1x32,7x5,32x32,128,16x8";
    let records =
        run("a100-80", false, &["--kernel", kernels, "--block", blocks, "--nx", "45", "--ny", "70"]);
    assert_eq!(records.len(), 7 * (8 + 2));
    assert!(records.iter().all(|record| record["verified"] == true));
    let of = |block: &str| records.iter().find(|record| record["parameters"]["block"] == block);
    let first = of("7x5").expect("a row with that block");
    assert_eq!((&first["kernel"], &first["parameters"]["grid"]), (&"copy_row".into(), &"7x14".into()));
    // In one dimension blocks and grids are numbers.
    assert!(records.iter().any(|record| record["parameters"]["block"] == 128));
    // Tiles move 256 threads of any shape.
    let records =
        run("v100", false, &["--kernel", "tile,tile_vector", "--block", "256,1x256,2x128", "--nx", "130"]);
    assert_eq!((records.len(), records.iter().all(|record| record["verified"] == true)), (6, true));
}

#[test]
fn counters_show_which_side_is_across_the_grain() {
    let records = run("h200", false, &["--nx", "256", "--block", "32x8"]);
    let of = |kernel: &str| {
        let record = records.iter().find(|record| record["kernel"] == kernel);
        shape(record.unwrap_or_else(|| panic!("no {kernel}")))
    };
    assert_eq!(of("copy_row"), (4.0, 4.0, 0.0));
    assert_eq!(of("copy_col"), (32.0, 32.0, 0.0));
    assert_eq!(of("naive_row"), (4.0, 32.0, 0.0));
    assert_eq!(of("diagonal_col"), (32.0, 4.0, 0.0));
    // A column of an unpadded tile is in one bank: 32 wavefronts where one would do, on one side of the two.
    assert_eq!(of("tile"), (4.0, 4.0, 16.5));
    assert_eq!(of("tile_padded"), (4.0, 4.0, 1.0));
    assert_eq!(of("tile_vector"), (16.0, 16.0, 1.0));
}

#[test]
fn each_row_explains_itself() {
    let records =
        run("h200", false, &["--nx", "256", "--block", "32x8", "--kernel", "naive_row,tile,tile_padded"]);
    let says = |number: usize| records[number]["explanation"].as_str().expect("an explanation");
    let start = "loads touch 4 sectors per request, all of each used; stores touch 32 sectors per request, 12.5% of each used; L2 ";
    assert!(says(0).starts_with(start), "{}", says(0));
    assert!(says(1).contains("bank conflicts in shared memory are 32-way at worst"), "{}", says(1));
    assert!(says(2).contains("no bank conflicts in shared memory"), "{}", says(2));
    let arguments = ["run", "transpose", "--device", "sim:h200", "--nx", "64"];
    let shown = outcome(&mut coalesce(&[&arguments[..], &["--explain"]].concat())).out;
    assert!(shown.contains("\ncopy_row 16x16: loads and stores touch 4 sectors per request, "), "{shown}");
    let plain = outcome(&mut coalesce(&arguments)).out;
    assert!(!plain.contains("sectors per request"), "{plain}");
    for line in shown.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(shown.contains("16 KiB read and written, nx 64, ny 64, from L2, modelled"), "{shown}");
}

#[test]
fn every_check_is_clean() {
    let Outcome { status, out, err } = outcome(&mut coalesce(&["check", "transpose"]));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("no findings of 14 kernels in 30 launches"), "{out}");
}

#[test]
fn diagonal_order_wins_before_fermi_alone() {
    let faster = |card: &str| {
        let records = run(card, true, &["--kernel", "naive_row,diagonal_row", "--nx", "512"]);
        let rate = |number: usize| records[number]["gb_per_s"].as_f64().expect("a rate");
        rate(1) / rate(0)
    };
    assert!(faster("c1060") > 1.5, "{}", faster("c1060"));
    assert!(faster("h200") < 1.1, "{}", faster("h200"));
}

#[test]
fn limits_of_a_card_leave_kernels_out_or_are_errors() {
    let arguments = ["run", "transpose", "--device", "sim:c870", "--nx", "64", "--format", "csv"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(out.lines().count(), 1 + ROWS - 2);
    assert!(err.starts_with(
        "note: Tesla C870 has 16384 bytes of shared memory per block, which is too little for "
    ));
    let error = misuse(&mut coalesce(&[&arguments[..], &["--kernel", "tile_vector"]].concat()));
    assert!(error.contains("tile_vector needs 16384 bytes of shared memory"), "{error}");
}

#[test]
fn what_cannot_be_says_what_could() {
    fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
        [&["run", "transpose", "--device", "sim:h200"][..], arguments].concat()
    }
    for (arguments, says) in [
        (&["--kernel", "tile", "--block", "32x32"][..], "tile takes blocks of 256 threads in any shape"),
        (&["--nx", "2147483648"], "does not fit in 64 bits of address"),
        (&["--nx", "1048576", "--ny", "1048576"], "use larger blocks or a smaller matrix"),
        (&["--bytes", "4MiB"], "--bytes has nothing to act on: transpose does not take it"),
        (&["--range", "3"], "--range has nothing to act on: transpose does not take it"),
    ] {
        let error = misuse(&mut coalesce(&with(arguments)));
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    // How much memory there is, is no matter of the command line.
    let arguments = ["--nx", "300000", "--ny", "300000", "--kernel", "copy_row"];
    let error = failure(&mut coalesce(&with(&arguments)));
    assert!(error.contains("a smaller matrix (--nx, --ny)"), "{error}");
    for (arguments, says) in [
        (["--nx", "0"], "'0' is not a whole number in 1..=2147483648"),
        (["--ny", "-3"], "'-3' is not a whole number"),
        (["--nx", "99999999999"], "is not a whole number in 1..="),
        (["--block", "64x64"], "64 times 64 threads are 4096: a block has 1..=1024 in all"),
    ] {
        let Outcome { status, err, .. } = outcome(&mut coalesce(&with(&arguments)));
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
}
