//! `coalesce explain`, from arguments to what is printed, on simulated cards. Counts are worked out by hand: 4 MiB of `f32` are
//! 32768 requests of full warps.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, outcome};

/// What is printed, at this width.
fn explained_at(columns: &str, arguments: &[&str]) -> String {
    let all = [&["explain"][..], arguments].concat();
    let Outcome { status, out, err } =
        outcome(coalesce(&all).env("COLUMNS", columns).env("LC_ALL", "C.UTF-8"));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{all:?}");
    assert!(!out.contains('\x1b'), "colour, and not on a terminal: {out}");
    out
}

fn explained(arguments: &[&str]) -> String {
    explained_at("80", arguments)
}

/// The cells of the row for an access below the line of source that contains `text`.
fn row(out: &str, text: &str, access: &str) -> Vec<String> {
    let mut lines = out.lines().skip_while(|line| !(line.contains('│') && line.contains(text))).skip(1);
    let row = lines.find(|line| {
        line.trim_start().strip_prefix('┊').is_some_and(|row| row.trim_start().starts_with(access))
    });
    let row = row.unwrap_or_else(|| panic!("no {access} below {text}: {out}"));
    let cells = row.split_whitespace().skip(1 + access.split(' ').count());
    cells.map(str::to_string).collect()
}

#[test]
fn an_offset_is_explained_by_its_fifth_sector() {
    let out = explained(&["offset_f32", "--device", "sim:h200"]);
    assert!(
        out.starts_with("offset_f32  a kernel of offset\n`a[i + s] += 1`, one thread per element.\n\n  offset_f32(a: Out<T, Shifted<S>>, s: Extent<S>)\n"),
        "{out}"
    );
    assert!(out.contains("\n  - a.len() >= threads.count() + s\n"), "the contract: {out}");
    assert!(
        out.contains(
            "Simulated for NVIDIA H200 (sim:h200): offset 1, 4194304 bytes, block 256, grid\n4096.\n"
        ),
        "{out}"
    );
    for access in ["load", "store"] {
        assert_eq!(row(&out, "a.update(", access), ["32,768", "5.0", "sectors", "80%", "50%", "█████"]);
    }
    assert!(out.contains("5 sectors; the least possible is 4."), "{out}");
    assert!(
        out.contains(
            "
          0  ·███████ ████████ ████████ ████████  0-6 7-14 15-22 23-30
        128  █·······                             31
"
        ),
        "{out}"
    );
    assert!(out.contains("64 of 64 warps (100%)") && out.contains("Limited by warps;"), "{out}");
    assert!(
        out.contains("\nLimits, as shares of the longest (modelled)\n") && out.contains(" 100%, "),
        "{out}"
    );
    for command in
        ["coalesce explain offset ", "coalesce check offset_f32", "cargo xtask ptx offset_f32 --lines"]
    {
        assert!(out.contains(command), "{command}: {out}");
    }
}

#[test]
fn bank_conflicts_are_drawn_and_padding_takes_them_away() {
    let plain = explained(&["tile", "--device", "sim:h200"]);
    assert_eq!(row(&plain, "destination.put(", "shared load"), ["131,072", "32.0", "wavefronts", "3%"]);
    assert!(plain.contains("A load in shared memory, 4 bytes in each of 32 lanes"), "{plain}");
    assert!(plain.contains("\n         32  █······· ········ ········ ········  31\n"), "{plain}");
    let padded = explained(&["tile_padded", "--device", "sim:h200"]);
    assert_eq!(row(&padded, "destination.put(", "shared load"), ["131,072", "1.0", "wavefront", "100%"]);
    assert!(!padded.contains("in shared memory, 4 bytes"), "{padded}");
}

#[test]
fn a_card_without_a_cache_takes_more_than_the_sectors_drawn() {
    let out = explained(&["offset_f32", "--device", "sim:c870"]);
    assert!(out.contains("Tesla C870 (sim:c870): offset 1,"), "{out}");
    assert_eq!(row(&out, "a.update(", "load")[1..3], ["16.0", "sectors"], "a half-warp's");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "32 sectors; the least possible is 4. The picture has 5 sectors: this card serves the warp in parts"
        ),
        "{out}"
    );
}

#[test]
fn options_choose_the_launch() {
    let out = explained(&[
        "stride_f32",
        "--range",
        "8",
        "--bytes",
        "64KiB",
        "--block",
        "128",
        "--device",
        "sim:h200",
    ]);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(sim:h200): stride 8, 65536 bytes, block 128, grid 128."), "{out}");
    assert_eq!(row(&out, "a.update(", "load")[..3], ["512", "32.0", "sectors"]);
    assert!(out.contains("\n        128  █······· █······· █······· █·······  4 5 6 7\n"), "{out}");
}

#[test]
fn ptx_stands_below_its_line() {
    let out = explained(&["offset_f64", "--ptx", "--device", "sim:h200"]);
    let below: Vec<&str> = out.lines().skip_while(|line| !line.contains("a.update(")).skip(1).collect();
    let end = below.iter().position(|line| line.contains('│')).expect("the closing brace");
    let ptx: Vec<&str> = below[..end].iter().copied().filter(|line| line.contains('┆')).collect();
    assert!(ptx.iter().any(|line| line.contains("ld.global.b64")), "{out}");
    assert!(ptx.iter().any(|line| line.contains("st.global.b64")) && !out.contains(".loc"), "{out}");
}

#[test]
fn text_fits_the_terminal() {
    for (columns, most) in [("60", 60), ("80", 80), ("100", 100), ("200", 120)] {
        for name in ["matmul_tiled_16", "naive_row", "transpose", "matmul"] {
            let out = explained_at(columns, &[name]);
            let too_long = out.lines().find(|line| line.chars().count() > most && !line.contains("://"));
            assert_eq!(too_long, None, "{name} in {columns} columns");
        }
    }
    let all = ["explain", "stride_f32", "--range", "8"];
    let Outcome { status, out, err } = outcome(coalesce(&all).env("LC_ALL", "C"));
    assert_eq!((status, err.as_str(), out.is_ascii()), (Some(0), "", true), "{out}");
}

#[test]
fn an_experiment_is_explained_as_a_lesson() {
    let out = explained(&["offset"]);
    let head = "Coalescing: what misalignment and strides cost\noffset: a[i + s] += 1: warps that start";
    assert!(out.starts_with(head), "{out}");
    for part in [
        "\nKernels\n  offset_f32  `a[i + s] += 1`, one thread per element.\n",
        "How to Access Global Memory Efficiently in CUDA C/C++ Kernels",
        "\nRun it\n  coalesce run offset\n",
        "sectors of 32 bytes, four to a line of 128",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("(crate::") && !out.contains("]("), "Markdown: {out}");
}

#[test]
fn a_name_that_does_not_exist_is_a_wrong_command_line() {
    for (wrong, hint) in [
        ("naive_rwo", "did you mean naive_row"),
        ("strid", "did you mean stride"),
        ("potato", "`coalesce list`"),
    ] {
        let Outcome { status, out, err } = outcome(&mut coalesce(&["explain", wrong]));
        assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
        assert!(
            err.starts_with(&format!("error: there is no kernel or experiment '{wrong}'"))
                && err.contains(hint),
            "{err}"
        );
        assert!(err.lines().count() == 1 && err.matches(", ").count() <= 2, "{err}");
    }
}
