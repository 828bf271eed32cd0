//! Instructions below the source lines that they come from, PTX's and machine code's alike.
//!
//! ```text
//! // gpu-kernels/src/copy.rs:60  destination.put(own, source.at(own));  [crates/cuda_safe/src/view.rs:47]
//!     ld.global.nc.b32  %r5, [%rd7];
//! //  [crates/cuda_safe/src/view.rs:88]
//!     st.global.b32     [%rd9], %r5;
//! ```
//!
//! A line of the author's own stands once above the run of instructions that come from it. Behind it, and wherever it changes
//! within the run, stands in brackets the line of the function that was inlined there.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use ptx::Sources;
use ptx::lines::{Origin, SourceLine, in_library, origins};
use ptx::outline::lines_without_debugging;

/// Formats source lines.
pub(crate) struct Shown<'r> {
    sources: Sources,
    root: &'r Path,
}

impl<'r> Shown<'r> {
    /// Paths below this folder are shown from it on.
    pub(crate) fn new(root: &'r Path) -> Self {
        Self { sources: Sources::new(), root }
    }

    /// `src/copy.rs:60`
    fn place(&self, (file, line): (&str, u32)) -> String {
        format!("{}:{line}", self.file(file))
    }

    /// A file's path from the root; of Rust's own source from `library`, of other crates from their folder.
    fn file<'f>(&self, file: &'f str) -> &'f str {
        if let Ok(inside) = Path::new(file).strip_prefix(self.root)
            && let Some(inside) = inside.to_str()
        {
            return inside;
        }
        if !in_library(file) {
            return file;
        }
        for (folder, levels) in [("/library/", 0), ("/registry/src/", 1), ("/git/checkouts/", 2)] {
            if let Some((_, rest)) = file.rsplit_once(folder) {
                return rest.splitn(levels + 1, '/').last().unwrap_or(rest);
            }
        }
        file
    }
}

/// Puts headings above instructions: what is above the next one, if anything changed.
pub(crate) struct Headings<'r> {
    shown: &'r Shown<'r>,
    line: Option<(String, u32)>,
    inlined: Option<(String, u32)>,
    begun: bool,
}

impl<'r> Headings<'r> {
    /// None yet.
    pub(crate) fn new(shown: &'r Shown<'r>) -> Self {
        Self { shown, line: None, inlined: None, begun: false }
    }

    /// The heading above an instruction from this line, by way of this inlined one. Empty where both are those of the
    /// instruction before.
    pub(crate) fn above(&mut self, line: Option<(&str, u32)>, inlined: Option<(&str, u32)>) -> String {
        let owned = |place: Option<(&str, u32)>| place.map(|(file, line)| (file.to_owned(), line));
        let same_line = self.begun && self.line == owned(line);
        let same_inlined = same_line && self.inlined == owned(inlined);
        (self.line, self.inlined, self.begun) = (owned(line), owned(inlined), true);
        if same_inlined {
            return String::new();
        }
        let brackets =
            inlined.map(|inlined| format!("  [{}]", self.shown.place(inlined))).unwrap_or_default();
        if same_line {
            return match brackets.as_str() {
                "" => "//  [the line itself]\n".to_owned(),
                brackets => format!("//{brackets}\n"),
            };
        }
        let Some(place @ (file, number)) = line else { return "// from no line of the source\n".to_owned() };
        let text = self.shown.sources.line(file, number);
        let text = text.map(|text| format!("  {}", text.trim())).unwrap_or_default();
        format!("// {}{text}{brackets}\n", self.shown.place(place))
    }
}

/// The PTX with headings instead of directives.
///
/// # Errors
/// The text is no PTX that [`ptx::parse`] reads.
pub(crate) fn of_ptx(text: &str, shown: &Shown<'_>) -> Result<String> {
    let module = ptx::parse(text).context("the lines of this PTX cannot be told")?;
    let origins: BTreeMap<u32, Origin> =
        origins(&module).into_iter().map(|origin| (origin.ptx_line, origin)).collect();
    let mut headings = Headings::new(shown);
    let mut function = None;
    let lines = lines_without_debugging(text).into_iter().map(|(number, line)| {
        let Some(origin) = origins.get(&number) else { return format!("{line}\n") };
        if function.replace(&origin.function) != Some(&origin.function) {
            headings = Headings::new(shown);
        }
        let heading = headings.above(origin.user_line().map(place), origin.inlined().next().map(place));
        format!("{heading}{line}\n")
    });
    Ok(lines.collect::<String>().trim_end().to_owned() + "\n")
}

fn place(line: &SourceLine) -> (&str, u32) {
    (&line.file, line.line)
}

/// Strips the PTX of directives that tie instructions to source lines, with their labels and sections.
pub(crate) fn without(text: &str) -> String {
    let lines: Vec<&str> = lines_without_debugging(text).into_iter().map(|(_, line)| line).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The compiler's output for `offset_f32`, with files named from the checkout's root on.
    const OFFSET: &str = include_str!("../fixtures/offset_f32.ptx");

    /// A checkout with the lines of `offset_f32` in it, which is removed again.
    pub(crate) struct Checkout(pub(crate) std::path::PathBuf);

    impl Checkout {
        pub(crate) fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("xtask-ptx-{name}-{}", std::process::id()));
            let folder = root.join("gpu-kernels/src");
            std::fs::create_dir_all(&folder).unwrap();
            let lines = "#[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]\n\
                         pub fn offset<T: Number>(thread: Thread, a: Out<T, Shifted<S>>, s: Extent<S>) {\n\
                         \x20   a.update(thread.own(), |a| a + T::ONE);\n\
                         }\n";
            std::fs::write(folder.join("coalescing.rs"), "\n".repeat(39) + lines).unwrap();
            Self(root)
        }

        /// The text with its files in this checkout, and in a toolchain.
        pub(crate) fn placed(&self, text: &str) -> String {
            let root = self.0.display();
            text.replace("\"crates/", &format!("\"{root}/crates/"))
                .replace("\"gpu-kernels/", &format!("\"{root}/gpu-kernels/"))
        }
    }

    impl Drop for Checkout {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn instructions_stand_below_the_lines_that_they_come_from() {
        let checkout = Checkout::new("lines");
        let text = of_ptx(&checkout.placed(OFFSET), &Shown::new(&checkout.0)).unwrap();
        let body = text.split_once("%rd<10>;\n").unwrap().1;
        assert_eq!(
            body,
            "\n\
             // gpu-kernels/src/coalescing.rs:40  #[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]\n\
             \tld.param.b64 \t%rd1, [offset_f32_param_0];\n\
             \tcvta.to.global.u64 \t%rd2, %rd1;\n\
             \tld.param.b32 \t%r1, [offset_f32_param_1];\n\
             // gpu-kernels/src/coalescing.rs:42  a.update(thread.own(), |a| a + T::ONE);  [crates/cuda_safe/src/thread.rs:49]\n\
             \tmov.u32 \t%r2, %ctaid.x;\n\
             \tmov.u32 \t%r3, %ntid.x;\n\
             \tmul.wide.u32 \t%rd3, %r2, %r3;\n\
             \tmov.u32 \t%r4, %tid.x;\n\
             //  [crates/cuda_safe/src/output.rs:62]\n\
             \tmul.wide.u32 \t%rd4, %r1, 4;\n\
             \tadd.s64 \t%rd5, %rd2, %rd4;\n\
             \tshl.b64 \t%rd6, %rd3, 2;\n\
             \tadd.s64 \t%rd7, %rd5, %rd6;\n\
             \tmul.wide.u32 \t%rd8, %r4, 4;\n\
             \tadd.s64 \t%rd9, %rd7, %rd8;\n\
             //  [crates/cuda_safe/src/output.rs:64]\n\
             \tld.global.b32 \t%r5, [%rd9];\n\
             //  [core/src/ops/arith.rs:105]\n\
             \tadd.rn.f32 \t%r6, %r5, 0f3F800000;\n\
             //  [crates/cuda_safe/src/output.rs:64]\n\
             \tst.global.b32 \t[%rd9], %r6;\n\
             // gpu-kernels/src/coalescing.rs:40  #[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]\n\
             \tret;\n\n}\n"
        );
        // Headings are comments: it is the same program.
        assert_eq!(ptx::parse(&text).unwrap().entries().count(), 1);
    }

    #[test]
    fn without_lines_there_is_nothing_for_debuggers() {
        let text = without(OFFSET);
        assert!(text.ends_with("\tst.global.b32 \t[%rd9], %r6;\n\tret;\n\n}\n"), "{text}");
        for noise in [".loc", ".file", ".section", ".b8", "$L__"] {
            assert!(!text.contains(noise), "{noise} is in\n{text}");
        }
        assert_eq!(ptx::parse(&text).unwrap().entries().count(), 1);
    }

    #[test]
    fn files_are_shown_from_where_they_are_known() {
        let shown = Shown::new(Path::new("/home/me/lab"));
        for (file, short) in [
            ("/home/me/lab/gpu-kernels/src/copy.rs", "gpu-kernels/src/copy.rs"),
            ("/r/lib/rustlib/src/rust/library/core/src/ptr/mod.rs", "core/src/ptr/mod.rs"),
            ("/h/.cargo/registry/src/index-1/half-2.6.0/src/lib.rs", "half-2.6.0/src/lib.rs"),
            ("/h/.cargo/git/checkouts/lab-1f/9ab/src/lib.rs", "src/lib.rs"),
            ("/elsewhere/kernel.rs", "/elsewhere/kernel.rs"),
        ] {
            assert_eq!(shown.file(file), short);
        }
    }

    #[test]
    fn instructions_without_a_line_say_so_once() {
        let shown = Shown::new(Path::new("/nowhere"));
        let mut headings = Headings::new(&shown);
        assert_eq!(headings.above(None, None), "// from no line of the source\n");
        assert_eq!(headings.above(None, None), "");
        assert_eq!(headings.above(Some(("a.rs", 7)), None), "// a.rs:7\n");
        assert_eq!(headings.above(Some(("a.rs", 7)), Some(("b.rs", 1))), "//  [b.rs:1]\n");
        assert_eq!(headings.above(Some(("a.rs", 7)), None), "//  [the line itself]\n");
    }
}
