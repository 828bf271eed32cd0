//! Machine code: what `nvdisasm` prints of a cubin, each instruction with the source lines that it comes from.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// A line of machine code: an instruction or a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// As nvdisasm prints it, indentation included.
    pub text: String,
    /// The source lines of an instruction, as files with lines from 1. The innermost inlined function comes first, then
    /// each place where it was inlined, up to the kernel. Empty for labels, and where the cubin has no lines.
    pub chain: Vec<(String, u32)>,
}

/// Runs nvdisasm on a cubin; the text is for [`read`].
///
/// # Errors
/// nvdisasm does not start, or does not read the cubin: the error has what it says.
pub fn disassemble(nvdisasm: &Path, cubin: &Path) -> Result<String> {
    process::succeed(Command::new(nvdisasm).args(["--print-code", "--print-line-info-inline"]).arg(cubin))
}

/// Reads what nvdisasm prints with `--print-code --print-line-info-inline`: the lines of kernels by their names, without
/// padding.
///
/// ```
/// let printed = "\t.section\t.text.fill,\"ax\",@progbits\n.text.fill:\n\
///     \t//## File \"core.rs\", line 9 inlined at \"kernel.rs\", line 3\n\
///     \t//## File \"kernel.rs\", line 3\n        /*0000*/  EXIT ;\n";
/// let code = tools::sass::read(printed);
/// let chain = [("core.rs".to_string(), 9), ("kernel.rs".to_string(), 3)];
/// assert_eq!((code["fill"][0].text.trim(), &code["fill"][0].chain[..]), ("/*0000*/  EXIT ;", &chain[..]));
/// ```
pub fn read(disassembly: &str) -> BTreeMap<String, Vec<Line>> {
    let mut kernels: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    let mut lines = None;
    // One line for each inlined call, innermost first; they hold until there are others.
    let mut chain: Vec<(String, u32)> = Vec::new();
    let mut begun = false;
    for line in disassembly.lines() {
        if let Some(kernel) = line.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
            chain.clear();
            lines = Some(kernels.entry(kernel.to_owned()).or_default());
        }
        let Some(lines) = lines.as_mut() else { continue };
        if let Some(source) = source_of(line) {
            if std::mem::take(&mut begun) {
                chain.clear();
            }
            chain.push(source);
        } else if is_instruction(line) {
            begun = true;
            lines.push(Line { text: line.to_owned(), chain: chain.clone() });
        } else if is_label(line) && !line.starts_with(".text.") {
            lines.push(Line { text: line.to_owned(), chain: Vec::new() });
        }
    }
    for lines in kernels.values_mut() {
        while lines.last().is_some_and(|line| is_padding(&line.text)) {
            let _ = lines.pop();
        }
    }
    kernels
}

fn is_instruction(line: &str) -> bool {
    line.trim_start().starts_with("/*")
}

fn is_label(line: &str) -> bool {
    line.starts_with(".L") && line.ends_with(':')
}

/// True if a line stands behind the last instruction: `NOP`s, and their labels.
fn is_padding(line: &str) -> bool {
    line.ends_with("NOP;") || line.ends_with("NOP ;") || is_label(line)
}

/// The source line that a line such as `//## File "a.rs", line 7 inlined at "b.rs", line 3` states. It holds for the
/// next instructions. Each place of inlining has a line of its own.
fn source_of(line: &str) -> Option<(String, u32)> {
    let (file, rest) = line.trim().strip_prefix("//## File \"")?.split_once("\", line ")?;
    let digits = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
    Some((file.to_owned(), rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instructions_and_labels_of_kernels_are_kept() {
        let text = "\t.target\tsm_90\n\n\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n        /*0000*/  LDC R1 ;\n\
                    .L_x_2:\n        /*0010*/  NOP;\n        /*0020*/  EXIT ;\n        /*0030*/  NOP;\n.L_x_4:\n\n//--- SYMBOLS\n";
        let code = read(text);
        let lines: Vec<&str> = code["k"].iter().map(|line| line.text.trim()).collect();
        assert_eq!(lines, ["/*0000*/  LDC R1 ;", ".L_x_2:", "/*0010*/  NOP;", "/*0020*/  EXIT ;"]);
        assert_eq!(code.len(), 1);
    }
}
