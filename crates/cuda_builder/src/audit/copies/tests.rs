//! Instructions that are copied rightly and wrongly.

use super::forward::Forward;
use super::ways::{UNBOUNDED, Ways};
use super::{Counts, Originals};
use crate::audit::Finding;
use crate::passes::PassOptions;
use crate::{CudaBuilderError, testing};

/// What the audit finds in the finished code, if LLVM is told of inline assembly no more than rustc does.
fn unmarked(text: &str) -> Vec<Finding> {
    match testing::ptx_with(text, PassOptions { leave_unmarked: true, ..PassOptions::default() }) {
        Ok(_) => Vec::new(),
        Err(CudaBuilderError::Audit { findings, .. }) => findings,
        Err(other) => panic!("{other}"),
    }
}

fn to_branches(function: &str, instruction: &str, expected: usize, found: usize) -> Finding {
    Finding::CopiedToBranches {
        function: function.into(),
        instruction: instruction.into(),
        expected,
        found,
        place: None,
    }
}

/// A kernel that does something for its first thread before and after `middle`, in a loop of `%n` rounds.
fn kernel(middle: &str) -> String {
    format!(
        r#"
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        define ptx_kernel void @k(ptr %p, i32 %n) {{
        start:
          %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %first = icmp eq i32 %tid, 0
          br label %round
        round:
          %i = phi i32 [ 0, %start ], [ %next, %last ]
          br i1 %first, label %one, label %meet
        one:
          store volatile i32 %i, ptr %p
          br label %meet
        meet:
          {middle}
          br i1 %first, label %two, label %last
        two:
          store volatile i32 2, ptr %p
          br label %last
        last:
          %next = add nuw i32 %i, 1
          %more = icmp ult i32 %next, %n
          br i1 %more, label %round, label %end
        end:
          ret void
        }}
        "#
    )
}

#[test]
fn an_unmarked_barrier_is_copied_into_branches_and_found() {
    let barrier = r#"call void asm sideeffect "bar.sync 1, 128;", "~{memory}"()"#;
    assert_eq!(unmarked(&kernel(barrier)), [to_branches("k", "bar.sync", 1, 2)]);
    let store = r#"call void asm sideeffect "stmatrix.sync.aligned.m8n8.x1.shared.b16 [$0], {$1};", "r,r,~{memory}"(i32 %i, i32 %i)"#;
    assert_eq!(
        unmarked(&kernel(store)),
        [to_branches("k", "stmatrix.sync.aligned.m8n8.x1.shared.b16", 1, 2)]
    );
    let text = unmarked(&kernel(barrier))[0].to_string();
    assert!(
        text.starts_with(
            "`bar.sync` in `k` (build with line information to see where) was copied: it is on 2 paths of which a thread takes \
             one, where the source has it on 1."
        ),
        "{text}"
    );
    // The passes tell LLVM.
    for middle in [barrier, store] {
        assert_eq!(testing::ptx(&kernel(middle)).matches(".sync").count(), 1);
    }
}

#[test]
fn what_a_lane_does_alone_may_be_copied() {
    let store = r#"call void asm sideeffect "st.global.cs.b32 [$0], $1;", "l,r,~{memory}"(ptr %p, i32 1)"#;
    let ptx = testing::ptx(&kernel(store));
    assert!(ptx.matches("st.global.cs").count() >= 2, "{ptx}");
}

#[test]
fn unrolled_copies_follow_each_other() {
    let ptx = testing::ptx(
        r#"
        define ptx_kernel void @k(ptr %p) {
        start:
          br label %round
        round:
          %i = phi i32 [ 0, %start ], [ %next, %last ]
          %even = and i32 %i, 1
          %c = icmp eq i32 %even, 0
          br i1 %c, label %one, label %last
        one:
          call void asm sideeffect "bar.sync 1, 128;", "~{memory}"()
          store volatile i32 %i, ptr %p
          br label %last
        last:
          call void asm sideeffect "barrier.cluster.arrive.aligned;", "~{memory}"()
          %next = add nuw i32 %i, 1
          %more = icmp ult i32 %next, 6
          br i1 %more, label %round, label %end
        end:
          ret void
        }
        "#,
    );
    assert_eq!(ptx.matches("bar.sync 1").count(), 3, "{ptx}");
    assert_eq!(ptx.matches("barrier.cluster").count(), 6, "{ptx}");
}

#[test]
fn a_helper_may_be_inlined_wherever_it_is_called() {
    let text = |calls: &str| {
        format!(
            r#"
            define ptx_kernel void @k(ptr %p, i1 %c) {{
              br i1 %c, label %one, label %two
            one:
              call void @twice(ptr %p, i32 1)
              br label %end
            two:
              {calls}
              br label %end
            end:
              ret void
            }}
            define internal void @twice(ptr %p, i32 %v) {{
              store volatile i32 %v, ptr %p
              call void @meet()
              ret void
            }}
            define internal void @meet() {{
              call void asm sideeffect "bar.sync 1, 128;", "~{{memory}}"()
              ret void
            }}
            "#
        )
    };
    let ptx = testing::ptx(&text("call void @twice(ptr %p, i32 2)"));
    assert_eq!(ptx.matches("bar.sync 1").count(), 2, "{ptx}");
    let ptx = testing::ptx(&text("call void @meet()"));
    assert_eq!(ptx.matches("bar.sync 1").count(), 2, "{ptx}");
}

#[test]
fn ways_are_counted_through_calls_pointers_and_recursion() {
    let text = r#"
        define ptx_kernel void @k(ptr %f) {
          call void @a()
          call void @a()
          call void @b()
          ret void
        }
        define ptx_kernel void @pointing(ptr %f) {
          call void %f()
          call void @b()
          ret void
        }
        define ptx_kernel void @storing(ptr %p) {
          store ptr @a, ptr %p
          call void @lonely(ptr %p)
          ret void
        }
        define ptx_kernel void @again() {
          call void @again()
          call void @b()
          ret void
        }
        define internal void @a() {
          call void @b()
          ret void
        }
        define internal void @b() {
          call void asm sideeffect "bar.sync 0;", ""()
          ret void
        }
        define internal void @lonely(ptr %p) {
          call void @lonely(ptr %p)
          ret void
        }
    "#;
    testing::with_module(text, |module| {
        let originals = Originals::number(module);
        let ways = |from| Ways::new(&originals, "b").from(from);
        assert_eq!(ways("b"), 1);
        assert_eq!(ways("k"), 3);
        assert_eq!(ways("pointing"), 2);
        assert_eq!(ways("storing"), 0);
        assert_eq!(ways("again"), UNBOUNDED);
        assert_eq!(ways("made.by.the.optimiser"), UNBOUNDED);
        assert_eq!(originals.check(module), []);
        assert!(!module.to_text().contains("coalesce"), "the numbers are gone");
    });
}

#[test]
fn only_paths_apart_count() {
    // Three ways through, two of which meet again; the second block of each has a copy.
    let text = r#"
        define void @f(i32 %c) {
        start:
          switch i32 %c, label %x [ i32 1, label %y i32 2, label %z ]
        x: br label %end
        y: br label %w
        z: br label %w
        w: br label %end
        end:
          %more = icmp eq i32 %c, 7
          br i1 %more, label %start, label %out
        out: ret void
        }
    "#;
    testing::with_module(&text.replace("start:\n", "br label %start\nstart:\n"), |module| {
        let function = module.function("f").unwrap();
        let graph = Forward::new(function);
        let [_, start, x, y, z, w, end, _out] = function.blocks().collect::<Vec<_>>()[..] else {
            panic!("eight blocks")
        };
        assert_eq!(graph.most_apart(&[x, y, z]), 3);
        assert_eq!(graph.most_apart(&[x, y, w]), 2);
        assert_eq!(graph.most_apart(&[start, y, w, end]), 1);
        assert_eq!(graph.most_apart(&[start, x, y, z, w, end]), 3);
    });
}

#[test]
fn the_back_end_may_not_write_more_than_it_was_given() {
    let text = r#"
        define ptx_kernel void @k() {
          call void asm sideeffect "bar.sync 0; bar.sync 1, 64;", ""()
          call void asm sideeffect "st.shared.b32 [$0], 1;", "r"(i32 0)
          ret void
        }
    "#;
    let counts = testing::with_module(text, Counts::of);
    let asm = "\t// begin inline asm\n\tbar.sync 0; bar.sync 1, 64;\n\t// end inline asm\n";
    let ptx = |body: &str| format!(".visible .entry k()\n{{\n{body}\tbar.sync 0;\n\tret;\n}}\n");
    assert_eq!(counts.check(&ptx(asm)), []);
    assert_eq!(counts.check(&ptx("")), []);
    assert_eq!(
        counts.check(&ptx(&asm.repeat(2))),
        [Finding::CopiedByBackEnd {
            function: "k".into(),
            instruction: "bar.sync".into(),
            expected: 2,
            found: 4
        }]
    );
}
