//! Promises and laws about each kernel's PTX, stated beside the kernel and checked by `cargo xtask test`.
//!
//! A promise is a line comment in `gpu-kernels/src`, above the kernel that it is about:
//!
//! ```text
//! // PTX: contains ld.global.v4.b32
//! // PTX: contains 4x st.global.v4.b32
//! // PTX: lacks ld.global.nc
//! // PTX compute_90+: contains fence.proxy.async
//! // PTX: allows trap because the length is checked once, before the loop
//! #[kernel]
//! pub unsafe fn copy_vector(source: &[Vector], destination: *mut Vector) { .. }
//! ```
//!
//! - `contains TEXT`: TEXT is there; `contains 4x TEXT`: in at least four statements.
//! - `lacks TEXT`: it is not.
//! - TEXT may be alternatives: `contains ld.global.v4.b32 or ld.global.v2.b64` (one of them is there), `lacks div or rem`
//!   (neither is).
//! - `allows LAW because REASON`: lifts one of the laws below for this kernel. The reason is not optional.
//! - `compute_NN+`: the promise holds from that architecture on; without it, for every architecture that is built.
//! - Where no `fn NAME` follows, because a macro writes the kernels, the promise names them:
//!   `// PTX offset_f32, offset_f64: contains ld.global`.
//!
//! TEXT is looked for in the instructions and declarations of the kernel, one statement at a time, not in comments or
//! debug directives. It stands for whole words or leading parts of dotted words: `ld.global` is found in
//! `ld.global.nc.b32`, `ld.global.b3` is not found in `ld.global.b32`. A `*` stands for any run of characters
//! without a space: `ld.global*.v4.b32`.
//!
//! Laws, which hold for every kernel without being written down ([`Law`]): no `call`, no `local` memory, no `generic`
//! load or store (one whose address space the compiler could not tell), no `trap` (what a panic becomes), and no
//! register `spills` (which ptxas reports, see [`crate::gate`]).
//!
//! A kernel without any `contains` or `lacks` is a failure, and so is a promise about a kernel that does not exist.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use ptx::op::Op;
use ptx::op::memory::Memory;
use ptx::outline::{Kind, Statement, statements};

use crate::pattern::{finds, finds_any};

/// A rule that holds for every kernel unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Law {
    /// No function call is left: everything was inlined.
    Call,
    /// No local memory: no variable lives in the thread's stack frame.
    Local,
    /// No load, store or atomic on a generic address.
    Generic,
    /// No `trap`: no panic path is left.
    Trap,
    /// No register spilled to local memory; only ptxas can tell.
    Spills,
}

impl Law {
    /// Every law, in the order in which they are checked and listed.
    pub(crate) const ALL: [Law; 5] = [Law::Call, Law::Local, Law::Generic, Law::Trap, Law::Spills];

    /// The word that `allows` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Law::Call => "call",
            Law::Local => "local",
            Law::Generic => "generic",
            Law::Trap => "trap",
            Law::Spills => "spills",
        }
    }

    /// Whether a statement of PTX breaks the law.
    fn is_broken_by(self, statement: &Statement<'_>) -> bool {
        let op = match statement.kind {
            Kind::Instruction(opcode) => Op::read(opcode).ok(),
            _ => None,
        };
        match self {
            Law::Call => op == Some(Op::Call),
            Law::Local => finds(".local", statement.text),
            Law::Generic => op.is_some_and(|op| {
                matches!(op, Op::Memory(Memory::Ld(_) | Memory::Ldu(_) | Memory::St(_) | Memory::Atomic(_)))
                    && op.space().is_none()
            }),
            Law::Trap => matches!(op, Some(Op::Trap | Op::Brkpt)),
            Law::Spills => false,
        }
    }
}

/// One promise about one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Promise {
    Contains { text: String, times: usize },
    Lacks { text: String },
    Allows { law: Law },
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Promise::Contains { text, times: 1 } => write!(f, "contains {text}"),
            Promise::Contains { text, times } => write!(f, "contains {times}x {text}"),
            Promise::Lacks { text } => write!(f, "lacks {text}"),
            Promise::Allows { law } => write!(f, "allows {}", law.name()),
        }
    }
}

/// A promise with the place where it is written and the architectures that it is about.
#[derive(Clone, Debug)]
struct Stated {
    promise: Promise,
    /// Lowest compute capability it holds for, as in `90` of `compute_90+`; 0 for all.
    from: u32,
    place: String,
}

/// All promises of the kernel crate, by kernel.
#[derive(Debug, Default)]
pub(crate) struct Expectations {
    by_kernel: BTreeMap<String, Vec<Stated>>,
}

impl Expectations {
    /// Reads every `.rs` file under `folder`. Places are given relative to `folder`'s parent.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut expectations = Expectations::default();
        let base = folder.parent().unwrap_or(folder);
        for path in rust_files(folder)? {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(base).unwrap_or(&path).display().to_string();
            expectations.add(&name, &text)?;
        }
        Ok(expectations)
    }

    /// Adds the promises of one source file.
    pub(crate) fn add(&mut self, file: &str, source: &str) -> Result<()> {
        let lines: Vec<&str> = source.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix("// PTX") else { continue };
            // Prose such as `// PTX has no ...` is not a promise: those end their subject with a colon.
            let Some((subject, statement)) = rest.split_once(':') else { continue };
            if !(subject.is_empty() || subject.starts_with(' ')) {
                continue;
            }
            let place = format!("{file}:{}", number + 1);
            let (kernels, from) = parse_subject(subject).with_context(|| place.clone())?;
            let promise = parse_statement(statement.trim()).with_context(|| place.clone())?;
            let kernels = if kernels.is_empty() {
                let Some(name) = lines[number + 1..].iter().find_map(|line| function_name(line)) else {
                    bail!(
                        "{place}: no `fn NAME` follows this promise. Where a macro writes the kernels, name them: \
                         `// PTX NAME, NAME: {}`.",
                        statement.trim()
                    );
                };
                vec![name.to_owned()]
            } else {
                kernels
            };
            for kernel in kernels {
                let stated = Stated { promise: promise.clone(), from, place: place.clone() };
                self.by_kernel.entry(kernel).or_default().push(stated);
            }
        }
        Ok(())
    }

    /// The number of promises.
    pub(crate) fn len(&self) -> usize {
        self.by_kernel.values().map(Vec::len).sum()
    }

    /// Whether the kernel may break `law`.
    pub(crate) fn allows(&self, kernel: &str, law: Law) -> bool {
        self.by_kernel
            .get(kernel)
            .is_some_and(|stated| stated.iter().any(|stated| stated.promise == Promise::Allows { law }))
    }

    /// Promises about kernels that are not among `kernels`, and kernels without a promise.
    pub(crate) fn unmatched(&self, kernels: &[String]) -> Vec<String> {
        let mut failures = Vec::new();
        for (kernel, stated) in &self.by_kernel {
            if !kernels.contains(kernel) {
                let hint = nearest::hint(kernel, kernels);
                failures.push(format!("{}: there is no kernel `{kernel}`{hint}", stated[0].place));
            }
        }
        for kernel in kernels {
            let promises = self.by_kernel.get(kernel).map_or(&[][..], Vec::as_slice);
            if promises.iter().all(|stated| matches!(stated.promise, Promise::Allows { .. })) {
                failures.push(format!(
                    "{kernel}: no promise about its PTX; write at least one `// PTX: contains ..` or `// PTX: lacks ..` above it"
                ));
            }
        }
        failures
    }

    /// The violations of one kernel's PTX on an architecture of this compute capability (`90` for both compute_90 and
    /// 90a).
    pub(crate) fn check(&self, kernel: &str, capability: u32, body: &str) -> Vec<String> {
        let statements: Vec<Statement<'_>> =
            statements(body).filter(|statement| !statement.kind.is_for_debuggers()).collect();
        let find = |text| statements.iter().filter(move |statement| finds_any(text, statement.text));
        let mut failures = Vec::new();
        for law in Law::ALL {
            if self.allows(kernel, law) {
                continue;
            }
            if let Some(statement) = statements.iter().find(|statement| law.is_broken_by(statement)) {
                failures.push(format!(
                    "{kernel}: breaks the law `no {}` with `{}`; if that is meant, write \
                     `// PTX: allows {} because REASON` above it",
                    law.name(),
                    statement.text,
                    law.name()
                ));
            }
        }
        for Stated { promise, from, place } in self.by_kernel.get(kernel).into_iter().flatten() {
            if capability < *from {
                continue;
            }
            match promise {
                Promise::Contains { text, times } => {
                    let found = find(text).count();
                    if found < *times {
                        failures.push(
                            format!("{kernel}: should contain `{promise}` ({place}): found {found}x")
                                .replacen("contain `contains ", "contain `", 1),
                        );
                    }
                }
                Promise::Lacks { text } => {
                    if let Some(found) = find(text).next() {
                        let found = found.text.lines().next().unwrap_or_default();
                        failures.push(format!("{kernel}: should lack `{text}` ({place}): has `{found}`"));
                    }
                }
                Promise::Allows { .. } => {}
            }
        }
        failures
    }
}

/// `offset_f32, offset_f64 compute_90+` in its parts.
fn parse_subject(subject: &str) -> Result<(Vec<String>, u32)> {
    let mut kernels = Vec::new();
    let mut from = 0;
    for word in subject.split([' ', ',']).filter(|word| !word.is_empty()) {
        if let Some(capability) = word.strip_prefix("compute_") {
            let Some(capability) = capability.strip_suffix('+').and_then(|digits| digits.parse().ok()) else {
                bail!("`{word}` should read `compute_NN+`, as in `compute_90+`");
            };
            from = capability;
        } else if is_identifier(word) {
            kernels.push(word.to_owned());
        } else {
            bail!("`{word}` is neither a kernel's name nor an architecture such as `compute_90+`");
        }
    }
    Ok((kernels, from))
}

/// Parses the text behind the colon.
fn parse_statement(statement: &str) -> Result<Promise> {
    let (verb, rest) = statement.split_once(' ').unwrap_or((statement, ""));
    let rest = rest.trim();
    if rest.is_empty() && matches!(verb, "contains" | "lacks" | "allows") {
        bail!("`{verb}` what? Something must follow it");
    }
    match verb {
        "contains" => {
            let (times, text) =
                match rest.split_once(' ').map(|(first, text)| (first.strip_suffix('x'), text)) {
                    Some((Some(digits), text)) if digits.parse::<usize>().is_ok() => {
                        (digits.parse().unwrap_or(1), text.trim())
                    }
                    _ => (1, rest),
                };
            if times == 0 {
                bail!("`contains 0x` promises nothing; write `lacks {text}`");
            }
            Ok(Promise::Contains { text: text.to_owned(), times })
        }
        "lacks" => Ok(Promise::Lacks { text: rest.to_owned() }),
        "allows" => {
            let (name, reason) = rest.split_once(" because ").unwrap_or((rest, ""));
            let Some(law) = Law::ALL.into_iter().find(|law| law.name() == name.trim()) else {
                let laws: Vec<&str> = Law::ALL.iter().map(|law| law.name()).collect();
                bail!("`allows {name}`: there is no such law; the laws are {}", laws.join(", "));
            };
            if reason.trim().is_empty() {
                bail!("`allows {name}` needs its reason: `allows {name} because ..`");
            }
            Ok(Promise::Allows { law })
        }
        _ => bail!("`{verb}` should be `contains`, `lacks` or `allows`"),
    }
}

/// The name in the first `fn NAME` of a line of Rust, if it is code.
fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let start = if line.starts_with("fn ") { 3 } else { line.find(" fn ")? + 4 };
    let name = line[start..].split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    is_identifier(name).then_some(name)
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Every `.rs` file under a folder, sorted.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Expectations {
        let mut expectations = Expectations::default();
        expectations.add("src/a.rs", source).unwrap();
        expectations
    }

    fn error(source: &str) -> String {
        format!("{:#}", Expectations::default().add("src/a.rs", source).unwrap_err())
    }

    const OFFSET: &str = "
        // PTX: contains ld.global.b32
        // PTX: lacks ld.global.nc
        /// Adds one.
        #[kernel]
        pub unsafe fn offset_f32(a: *mut f32, s: u32) {}
    ";

    const BODY: &str = "
        .visible .entry offset_f32(
            .param .u64 .ptr .align 1 offset_f32_param_0
        )
        {
            .reg .b32 %r<6>;
            .loc 1 20 5 // call.rs:20:5
            ld.param.b64 %rd1, [offset_f32_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            ld.global.b32 %r1, [%rd2];
            st.global.b32 [%rd2], %r1;
            ret;
        }
    ";

    #[test]
    fn a_promise_belongs_to_the_function_below_it() {
        let expectations = read(OFFSET);
        assert_eq!(expectations.by_kernel.keys().collect::<Vec<_>>(), ["offset_f32"]);
        assert_eq!(expectations.len(), 2);
        assert_eq!(expectations.check("offset_f32", 90, BODY), Vec::<String>::new());
    }

    #[test]
    fn broken_promises_name_the_place_and_what_was_found() {
        let expectations = read(OFFSET);
        let body = BODY.replace("ld.global.b32", "ld.global.nc.b32");
        assert_eq!(
            expectations.check("offset_f32", 90, &body),
            [
                "offset_f32: should contain `ld.global.b32` (src/a.rs:2): found 0x",
                "offset_f32: should lack `ld.global.nc` (src/a.rs:3): has `ld.global.nc.b32 %r1, [%rd2];`",
            ]
        );
    }

    #[test]
    fn counts_are_minimums() {
        let expectations = read("// PTX: contains 2x st.global\npub unsafe fn offset_f32() {}");
        assert_eq!(
            expectations.check("offset_f32", 75, BODY),
            ["offset_f32: should contain `2x st.global` (src/a.rs:1): found 1x"]
        );
        let twice = BODY.replace("ret;", "st.global.b32 [%rd2+4], %r1;\nret;");
        assert_eq!(expectations.check("offset_f32", 75, &twice), Vec::<String>::new());
    }

    #[test]
    fn a_promise_may_hold_from_an_architecture_on() {
        let expectations = read("// PTX compute_90+: contains mbarrier\nfn offset_f32() {}");
        assert_eq!(expectations.check("offset_f32", 89, BODY), Vec::<String>::new());
        assert_eq!(expectations.check("offset_f32", 90, BODY).len(), 1);
    }

    #[test]
    fn names_stand_in_for_the_function() {
        let expectations = read("// PTX one, two compute_80+: lacks trap\nkernels!(one, two);");
        assert_eq!(expectations.by_kernel.keys().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(expectations.by_kernel["two"][0].from, 80);
        assert!(error("// PTX: lacks trap\nkernels!(one);").contains("no `fn NAME` follows"));
        assert!(error("// PTX: lacks trap\nfn $name() {}").contains("no `fn NAME` follows"));
    }

    #[test]
    fn laws_hold_unless_lifted_with_a_reason() {
        let plain = read("// PTX: contains ret\nfn k() {}");
        for (line, law) in [
            ("call.uni (retval0), f, (param0);", "call"),
            (".local .align 8 .b8 __local_depot0[8];", "local"),
            ("st.local.b32 [%rd3], %r1;", "local"),
            ("cvta.local.u64 %SP, %SPL;", "local"),
            ("ld.b32 %r1, [%rd1];", "generic"),
            ("@%p1 st.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};", "generic"),
            ("atom.relaxed.gpu.add.u32 %r1, [%rd1], 1;", "generic"),
            ("trap;", "trap"),
        ] {
            let body = format!("{line}\nret;");
            let failures = plain.check("k", 75, &body);
            assert_eq!(failures.len(), 1, "{line}: {failures:?}");
            assert!(failures[0].contains(&format!("`no {law}` with `{line}`")), "{failures:?}");
            let lifted = read(&format!(
                "// PTX: contains ret\n// PTX: allows {law} because it is a test\nfn k() {{}}"
            ));
            assert_eq!(lifted.check("k", 75, &body), Vec::<String>::new());
        }
        for line in [
            "ld.param.b64 %rd1, [p];",
            "ld.shared::cluster.b32 %r1, [%r2];",
            "ld.relaxed.gpu.global.b32 %r1, [%rd1];",
        ] {
            assert_eq!(plain.check("k", 75, &format!("{line}\nret;")), Vec::<String>::new());
        }
    }

    #[test]
    fn kernels_and_promises_must_match() {
        let expectations =
            read("// PTX: lacks trap\nfn ofset() {}\n// PTX: allows trap because x\nfn bare() {}");
        let kernels = ["offset".to_owned(), "bare".to_owned()];
        let failures = expectations.unmatched(&kernels);
        assert_eq!(failures.len(), 3, "{failures:?}");
        assert!(failures[0].starts_with("src/a.rs:1: there is no kernel `ofset`"), "{failures:?}");
        assert!(failures[0].contains("offset"), "{failures:?}");
        assert!(failures[1].starts_with("offset: no promise"), "{failures:?}");
        assert!(failures[2].starts_with("bare: no promise"), "{failures:?}");
    }

    #[test]
    fn malformed_promises_are_errors_with_their_place() {
        assert!(error("// PTX: has ld\nfn k() {}").starts_with("src/a.rs:1: `has` should be"));
        assert!(error("// PTX: contains\nfn k() {}").contains("`contains` what?"));
        assert!(error("// PTX: contains 0x ld\nfn k() {}").contains("lacks ld"));
        assert!(error("// PTX: allows trap\nfn k() {}").contains("needs its reason"));
        assert!(error("// PTX: allows branches because x\nfn k() {}").contains("the laws are call, local"));
        assert!(error("// PTX compute_90: lacks ld\nfn k() {}").contains("compute_NN+"));
        assert!(error("// PTX *k: lacks ld\nfn k() {}").contains("neither a kernel's name"));
    }

    #[test]
    fn prose_is_not_a_promise() {
        assert_eq!(read("// PTX has two forms of this\n// PTXAS: no\nfn k() {}").len(), 0);
    }
}
