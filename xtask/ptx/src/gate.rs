//! The PTX gate: every kernel, for every architecture, keeps its promises and is accepted by ptxas without spills.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cuda_builder::NvvmArch;

use crate::expectations::{Expectations, Law};
use crate::kernels::Built;
use tools::ptxas::{self, Usage};

/// Holds every kernel's PTX to its promises and returns a line about what was checked.
pub(crate) fn check_promises(built: &[Built], expectations: &Expectations) -> Result<String> {
    let Some(first) = built.first() else { bail!("no PTX was built") };
    let mut all: Vec<String> = built.iter().flat_map(|one| one.kernels.clone()).collect();
    all.sort();
    all.dedup();
    let mut failures = expectations.unmatched(&all);
    // Most failures are the same for several architectures; each is reported once.
    let mut broken: Vec<(String, Vec<String>)> = Vec::new();
    for one in built {
        failures.extend(read_back(&one.text).err().map(|error| format!("{}: {error:#}", one.arch)));
        // A kernel may be missing where its instructions are missing; newer devices have every kernel of older ones.
        let missing: Vec<&str> =
            first.kernels.iter().filter(|kernel| !one.kernels.contains(kernel)).map(String::as_str).collect();
        if !missing.is_empty() {
            failures.push(format!(
                "{} lacks the kernels {}, which {} has",
                one.arch,
                missing.join(", "),
                first.arch
            ));
        }
        for (kernel, body) in one.extract_all()? {
            for failure in expectations.check(kernel, one.arch.capability_value(), &body) {
                match broken.iter_mut().find(|(known, _)| *known == failure) {
                    Some((_, arches)) => arches.push(one.arch.to_string()),
                    None => broken.push((failure, vec![one.arch.to_string()])),
                }
            }
        }
    }
    failures.extend(broken.into_iter().map(|(failure, arches)| {
        let all = arches.len() == built.len();
        format!("{}: {failure}", if all { "all architectures".to_owned() } else { arches.join(", ") })
    }));
    if !failures.is_empty() {
        bail!("{}\n`cargo xtask ptx KERNEL --arch ARCH` shows the PTX.", failures.join("\n"));
    }
    Ok(format!(
        "{} kernels, {} promises and {} laws each, {} architectures",
        all.len(),
        expectations.len(),
        Law::ALL.len(),
        built.len()
    ))
}

/// Checks that the crate `ptx` knows every instruction of a text, and that printing and parsing it changes nothing.
fn read_back(text: &str) -> Result<()> {
    let module = ptx::parse(text).context("the crate `ptx` does not read it")?;
    for function in module.functions() {
        for instruction in function.body.iter().flat_map(|body| &body.instructions) {
            let place = || format!("line {} in {}", instruction.position.line, function.name);
            instruction.opcode.op().map_err(Clone::clone).with_context(place)?;
        }
    }
    let again = ptx::parse(&module.to_string()).context("it is printed as what cannot be read")?;
    if again == module { Ok(()) } else { bail!("it is printed as another module") }
}

/// Has ptxas assemble every PTX file; returns a line for each architecture.
pub(crate) fn check_assembly(
    ptxas: &Path,
    built: &[Built],
    expectations: &Expectations,
    scratch: &Path,
) -> Result<String> {
    std::fs::create_dir_all(scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for one in built {
        let cubin = scratch.join(format!("kernels.{}.cubin", one.arch));
        match ptxas::assemble(ptxas, &one.arch.to_string(), &one.path, &cubin, false) {
            Ok(usages) => {
                lines.push(summary(one.arch, &usages));
                failures.extend(judge(one.arch, &one.kernels, &usages, expectations));
            }
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if !failures.is_empty() {
        lines.extend(failures);
        bail!("{}", lines.join("\n"));
    }
    Ok(lines.join("\n"))
}

/// `compute_90     9 kernels   at most 24 registers (copy_unrolled)   no spills`.
fn summary(arch: NvvmArch, usages: &[Usage]) -> String {
    let largest = usages.iter().max_by_key(|usage| usage.registers);
    let registers =
        largest.map_or_else(String::new, |usage| format!("{} registers ({})", usage.registers, usage.kernel));
    let spills: u32 = usages.iter().map(Usage::spills).sum();
    let spills = if spills == 0 { "no spills".to_owned() } else { format!("{spills} bytes of spills") };
    let arch = arch.to_string();
    format!("{arch:<13} {:>3} kernels   at most {registers}   {spills}", usages.len())
}

/// The violations in the report of ptxas.
fn judge(arch: NvvmArch, kernels: &[String], usages: &[Usage], expectations: &Expectations) -> Vec<String> {
    let mut failures = Vec::new();
    for kernel in kernels {
        let Some(usage) = usages.iter().find(|usage| usage.kernel == *kernel) else {
            failures.push(format!("{arch}: ptxas says nothing about {kernel}"));
            continue;
        };
        if usage.spills() > 0 && !expectations.allows(kernel, Law::Spills) {
            failures.push(format!(
                "{arch}: {kernel} spills {} bytes out of and {} bytes into its {} registers; if that is meant, write \
                 `// PTX: allows spills because REASON` above it",
                usage.spill_stores, usage.spill_loads, usage.registers
            ));
        }
        // Spills live in the stack frame too; the frame is a finding only without them.
        let may_have_a_frame = expectations.allows(kernel, Law::Local) || usage.spills() > 0;
        if usage.stack > 0 && !may_have_a_frame {
            failures.push(format!(
                "{arch}: {kernel} has {} bytes of local memory; if that is meant, write \
                 `// PTX: allows local because REASON` above it",
                usage.stack
            ));
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(kernel: &str, registers: u32) -> Usage {
        Usage { kernel: kernel.into(), registers, ..Usage::default() }
    }

    fn built(arch: NvvmArch, text: &str) -> Built {
        Built::read(arch, Path::new("kernels.ptx"), text.to_owned()).unwrap()
    }

    const MODULE: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry fill(
	.param .u64 fill_param_0
)
{
	.reg .b64 %rd<2>;
	ld.param.b64 %rd1, [fill_param_0];
	st.global.b32 [%rd1], 1;
	ret;
}
";

    #[test]
    fn kept_promises_are_counted() {
        let mut expectations = Expectations::default();
        expectations.add("fill.rs", "// PTX: contains st.global.b32\nfn fill() {}").unwrap();
        let built = [built(NvvmArch::Compute80, MODULE), built(NvvmArch::Compute90a, MODULE)];
        assert_eq!(
            check_promises(&built, &expectations).unwrap(),
            "1 kernels, 1 promises and 5 laws each, 2 architectures"
        );
    }

    #[test]
    fn broken_promises_say_where() {
        let mut expectations = Expectations::default();
        expectations.add("fill.rs", "// PTX compute_90+: contains st.global.v4\nfn fill() {}").unwrap();
        let built = [built(NvvmArch::Compute80, MODULE), built(NvvmArch::Compute90a, MODULE)];
        let error = check_promises(&built, &expectations).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[0], "compute_90a: fill: should contain `st.global.v4` (fill.rs:1): found 0x");
        assert_eq!(lines.len(), 2, "{error}");

        let mut expectations = Expectations::default();
        expectations.add("fill.rs", "// PTX: lacks ret\nfn fill() {}").unwrap();
        let error = check_promises(&built, &expectations).unwrap_err().to_string();
        assert!(
            error.starts_with("all architectures: fill: should lack `ret` (fill.rs:1): has `ret;`\n"),
            "{error}"
        );
    }

    #[test]
    fn a_text_is_read_as_a_whole() {
        let said = |text: &str| format!("{:#}", read_back(text).unwrap_err());
        assert!(read_back(MODULE).is_ok());
        let unknown = said(&MODULE.replace("st.global", "st.lobal"));
        assert!(unknown.starts_with("line 11 in fill: st.lobal.b32: unknown modifier .lobal"), "{unknown}");
        assert!(said("ret;").contains("expected `.version`"));
    }

    #[test]
    fn newer_architectures_have_the_kernels_of_the_oldest() {
        let mut expectations = Expectations::default();
        expectations.add("fill.rs", "// PTX: contains ret\nfn fill() {}").unwrap();
        let built =
            [built(NvvmArch::Compute80, MODULE), built(NvvmArch::Compute90, ".version 7.8\n.target sm_90\n")];
        let error = check_promises(&built, &expectations).unwrap_err().to_string();
        assert!(error.starts_with("compute_90 lacks the kernels fill, which compute_80 has"), "{error}");
        // The other way round it is a kernel for newer devices.
        let newer = [built[1].clone(), built[0].clone()];
        assert!(check_promises(&newer, &expectations).is_ok());
    }

    #[test]
    fn spills_and_local_memory_fail_unless_allowed() {
        let kernels = ["tile".to_owned()];
        let spilling = Usage { spill_stores: 8, spill_loads: 12, stack: 8, ..usage("tile", 255) };
        let framed = Usage { stack: 64, ..usage("tile", 30) };
        let plain = Expectations::default();
        let failures = judge(NvvmArch::Compute75, &kernels, std::slice::from_ref(&spilling), &plain);
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(
            failures[0].starts_with("compute_75: tile spills 8 bytes out of and 12 bytes into"),
            "{failures:?}"
        );
        let failures = judge(NvvmArch::Compute75, &kernels, std::slice::from_ref(&framed), &plain);
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains("64 bytes of local memory"), "{failures:?}");

        let mut allowing = Expectations::default();
        let source = "// PTX: allows spills because x\n// PTX: allows local because y\nfn tile() {}";
        allowing.add("a.rs", source).unwrap();
        assert_eq!(judge(NvvmArch::Compute75, &kernels, &[spilling], &allowing), Vec::<String>::new());
        assert_eq!(judge(NvvmArch::Compute75, &kernels, &[framed], &allowing), Vec::<String>::new());
        assert_eq!(
            judge(NvvmArch::Compute75, &kernels, &[], &plain),
            ["compute_75: ptxas says nothing about tile"]
        );
    }

    #[test]
    fn the_summary_names_the_hungriest_kernel() {
        let usages = [usage("copy", 10), usage("tile", 40)];
        assert_eq!(
            summary(NvvmArch::Compute90a, &usages),
            "compute_90a     2 kernels   at most 40 registers (tile)   no spills"
        );
    }
}
