//! Graphs drawn by hand: blocks, ways, meeting places.

use ptx::cfg::{BlockId, Cfg};

fn graph(code: &str) -> Cfg {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.func panics() .noreturn;\n.func helps();\n\
         .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{code}\n}}\n"
    );
    let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let body = module.entry("k").expect("the kernel").body.as_ref().expect("a definition");
    Cfg::new(&ptx::Index::new(&module), body)
}

/// Successors and meeting place of each block.
fn ways(cfg: &Cfg) -> Vec<(Vec<u32>, Option<u32>)> {
    let block = |block: &ptx::cfg::Block| {
        (block.successors.iter().map(|to| to.0).collect(), block.meets.map(|meets| meets.0))
    };
    cfg.blocks.iter().map(block).collect()
}

#[test]
fn a_diamond_meets_at_its_end() {
    let cfg = graph(
        "@%p1 bra ELSE; mov.u32 %r1, 1; bra END;
         ELSE: mov.u32 %r1, 2;
         END: mov.u32 %r2, %r1; ret;",
    );
    let expected = [(vec![1, 2], Some(3)), (vec![3], Some(3)), (vec![3], Some(3)), (vec![], None)];
    assert_eq!(ways(&cfg), expected);
    let ranges: Vec<_> = cfg.blocks.iter().map(|block| block.instructions.clone()).collect();
    assert_eq!(ranges, [0..1, 1..3, 3..4, 4..6]);
    assert_eq!(
        [0, 1, 2, 3, 4, 5].map(|index| cfg.block_of(index)),
        [0, 1, 1, 2, 3, 3].map(|block| Some(BlockId(block)))
    );
    assert_eq!(cfg.block_of(6), None);
    assert!(cfg.reducible);
}

#[test]
fn nested_diamonds_meet_inside_out() {
    let cfg = graph(
        "@%p1 bra END;
         @%p2 bra INNER; mov.u32 %r1, 1;
         INNER: mov.u32 %r2, 1;
         END: ret;",
    );
    let expected = [
        (vec![1, 4], Some(4)),
        (vec![2, 3], Some(3)),
        (vec![3], Some(3)),
        (vec![4], Some(4)),
        (vec![], None),
    ];
    assert_eq!(ways(&cfg), expected);
}

#[test]
fn a_loop_meets_behind_it() {
    let cfg = graph(
        "mov.u32 %r1, 0;
         LOOP: add.u32 %r1, %r1, 1;
         @%p1 bra LOOP;
         ret;",
    );
    assert_eq!(ways(&cfg), [(vec![1], Some(1)), (vec![2, 1], Some(2)), (vec![], None)]);
    assert!(cfg.reducible);
}

/// Meetings of each block that has some: block and depth.
fn meetings(cfg: &Cfg) -> Vec<(u32, Vec<(u32, u32)>)> {
    let places = |block: &ptx::cfg::Block| block.meetings.iter().map(|at| (at.block.0, at.depth)).collect();
    let all = (0..).zip(cfg.blocks.iter().map(places));
    all.filter(|(_, places): &(u32, Vec<_>)| !places.is_empty()).collect()
}

#[test]
fn lanes_that_stay_in_a_loop_meet_in_it_although_others_leave() {
    let cfg = graph(
        "LOOP: @%p1 bra STAY;
         @%p2 bra OUT;
         STAY: mov.u32 %r1, 1; @%p3 bra LOOP;
         OUT: ret;",
    );
    assert_eq!(cfg.blocks[0].meets, Some(BlockId(3)));
    assert_eq!(meetings(&cfg), [(0, vec![(3, 0), (2, 1)])]);
    let around = |from, to| cfg.loops_around(BlockId(from), BlockId(to));
    assert_eq!([around(0, 0), around(1, 2), around(1, 3), around(3, 3)], [1, 1, 0, 0]);
}

#[test]
fn lanes_that_end_a_round_apart_meet_at_the_next_one() {
    let cfg = graph(
        "LOOP: @%p1 bra LATE;
         @%p2 bra LOOP; bra OUT;
         LATE: @%p3 bra LOOP;
         OUT: ret;",
    );
    assert_eq!(meetings(&cfg), [(0, vec![(4, 0), (0, 1)])]);
    // The post-dominator is in the loop, but lanes come to it in different rounds.
    let cfg = graph(
        "LOOP: @%p1 bra NEXT;
         @%p2 bra LOOP;
         NEXT: @%p3 bra OUT; bra LOOP;
         OUT: ret;",
    );
    assert_eq!(cfg.blocks[0].meets, Some(BlockId(2)));
    assert_eq!(meetings(&cfg), [(0, vec![(4, 0), (0, 1)]), (1, vec![(4, 0), (0, 1)])]);
}

#[test]
fn each_of_two_loops_has_its_meeting() {
    let cfg = graph(
        "OUTER: mov.u32 %r1, 0;
         INNER: @%p1 bra STAY;
         @%p2 bra BEHIND;
         @%p3 bra OUT;
         STAY: @%p4 bra INNER;
         BEHIND: @%p5 bra OUTER;
         OUT: ret;",
    );
    assert_eq!(meetings(&cfg)[0], (1, vec![(6, 0), (5, 1), (4, 2)]));
    // Without a way out, the post-dominator is all there is.
    let cfg = graph("LOOP: @%p1 bra SKIP; mov.u32 %r1, 1; SKIP: @%p2 bra LOOP; ret;");
    assert_eq!(meetings(&cfg), []);
}

#[test]
fn labels_that_nothing_jumps_to_divide_nothing() {
    let cfg = graph("A: mov.u32 %r1, 0; B: mov.u32 %r1, 1; C: ret;");
    assert_eq!(cfg.blocks.len(), 1);
    assert_eq!(cfg.blocks[0].instructions, 0..3);
}

#[test]
fn a_switch_meets_at_its_end() {
    let cfg = graph(
        "TABLE: .branchtargets ONE, TWO, ONE, END;
         brx.idx %r1, TABLE;
         ONE: mov.u32 %r2, 1; bra END;
         TWO: mov.u32 %r2, 2;
         END: ret;",
    );
    let expected = [(vec![1, 2, 3], Some(3)), (vec![3], Some(3)), (vec![3], Some(3)), (vec![], None)];
    assert_eq!(ways(&cfg), expected);
}

/// With the panic counted as a way, lanes that part inside would meet only at the end of the kernel.
#[test]
fn a_bounds_check_does_not_destroy_the_meeting_place() {
    for panic in ["trap; exit;", "exit;", "call panics;", "call.uni panics, ();", "trap;"] {
        let cfg = graph(&format!(
            "@%p1 bra END;
             @%p2 bra PANIC;
             mov.u32 %r1, 1;
             END: mov.u32 %r2, 1; ret;
             PANIC: {panic}"
        ));
        assert_eq!(
            ways(&cfg)[..4],
            [(vec![1, 3], Some(3)), (vec![2, 4], Some(2)), (vec![3], Some(3)), (vec![], None)]
        );
        let returns: Vec<bool> = cfg.blocks[..5].iter().map(|block| block.returns).collect();
        assert_eq!(returns, [true, true, true, true, false], "{panic}");
    }
}

#[test]
fn a_call_that_returns_is_no_end() {
    let cfg = graph("call helps; ret;");
    assert_eq!(cfg.blocks.len(), 1);
    let cfg = graph("PANICS: .callprototype _ () .noreturn; @%p1 bra END; call %rd1, (), PANICS; END: ret;");
    assert_eq!(ways(&cfg), [(vec![1, 2], Some(2)), (vec![], None), (vec![], None)]);
    assert!(!cfg.blocks[1].returns);
    let cfg = graph("RETURNS: .callprototype _ (); call %rd1, (), RETURNS; ret;");
    assert_eq!(cfg.blocks.len(), 1);
}

#[test]
fn panics_have_meeting_places_of_their_own() {
    let cfg = graph(
        "@%p1 bra PANIC; ret;
         PANIC: @%p2 bra OTHER; mov.u32 %r1, 1;
         OTHER: mov.u32 %r1, 2; trap;",
    );
    let expected =
        [(vec![1, 2], Some(1)), (vec![], None), (vec![3, 4], Some(4)), (vec![4], Some(4)), (vec![], None)];
    assert_eq!(ways(&cfg), expected);
}

#[test]
fn lanes_that_return_early_meet_nobody() {
    let cfg = graph("@%p1 ret; mov.u32 %r1, 1; ret;");
    assert_eq!(ways(&cfg), [(vec![1], None), (vec![], None)]);
    assert!(cfg.blocks[0].leaves);
    let cfg = graph("@%p1 exit; mov.u32 %r1, 1; ret;");
    assert_eq!(ways(&cfg), [(vec![1], Some(1)), (vec![], None)]);
}

#[test]
fn the_end_of_the_text_is_a_return() {
    let cfg = graph("@%p1 bra END; mov.u32 %r1, 1; END:");
    assert_eq!(ways(&cfg), [(vec![1, 2], Some(2)), (vec![2], Some(2)), (vec![], None)]);
    assert_eq!(cfg.blocks[2].instructions, 2..2);
    assert!(cfg.blocks[2].returns);
    let cfg = graph("");
    assert_eq!(ways(&cfg), [(vec![], None)]);
    let cfg = graph("END: bra END;");
    assert_eq!(ways(&cfg), [(vec![0], None)]);
    assert!(!cfg.blocks[0].returns);
}

#[test]
fn a_loop_with_two_doors_is_irreducible() {
    let cfg = graph(
        "@%p1 bra SECOND;
         FIRST: mov.u32 %r1, 1;
         SECOND: mov.u32 %r1, 2;
         @%p2 bra FIRST;
         ret;",
    );
    assert!(!cfg.reducible);
    assert_eq!(
        ways(&cfg),
        [(vec![1, 2], Some(2)), (vec![2], Some(2)), (vec![3, 1], Some(3)), (vec![], None)]
    );
}

#[test]
fn loops_within_loops() {
    let cfg = graph(
        "OUTER: mov.u32 %r1, 0;
         INNER: @%p1 bra INNER;
         @%p2 bra OUTER;
         ret;",
    );
    assert!(cfg.reducible);
    assert_eq!(
        ways(&cfg),
        [(vec![1], Some(1)), (vec![2, 1], Some(2)), (vec![3, 0], Some(3)), (vec![], None)]
    );
}
