//! `ptx`: prints a kernel's PTX.

use anyhow::Result;
use clap::Args;
use cuda_builder::NvvmArch;
use xtask::cargo;
use xtask::layout::Layout;

use crate::kernels;

/// What `ptx` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The kernel's name
    #[arg(required_unless_present = "all")]
    kernel: Option<String>,
    /// The architecture to compile for
    #[arg(long, value_parser = kernels::parse_arch, default_value = "compute_90")]
    arch: NvvmArch,
    /// Print the whole module: all kernels
    #[arg(long, conflicts_with = "kernel")]
    all: bool,
    /// Keep the directives that tie instructions to source lines
    #[arg(long)]
    lines: bool,
}

/// Compiles the kernels and prints what was asked for.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let layout = Layout::find()?;
    let root = layout.root("ptx")?;
    let built = kernels::build_one(root, &cargo::target(root)?, arguments.arch)?;
    let text = match &arguments.kernel {
        Some(kernel) => built.extract(kernel)?,
        None => built.text,
    };
    xtask::print(&if arguments.lines { text } else { without_lines(&text) })
}

/// The same PTX without `.file` and `.loc` directives, the labels that go with them and the names that they refer to, which
/// are four lines in five.
fn without_lines(ptx: &str) -> String {
    // The names are the last section.
    let ptx = ptx.find(".section\t.debug_str").map_or(ptx, |names| ptx[..names].trim_end());
    let is_noise = |line: &str| {
        let line = line.trim();
        let label = line.ends_with(':');
        line.starts_with(".file")
            || line.strip_prefix(".loc").is_some_and(|rest| rest.starts_with(char::is_whitespace))
            || (label
                && ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|start| line.starts_with(start)))
    };
    let mut text = String::new();
    let mut blank = false;
    for line in ptx.lines().filter(|line| !is_noise(line)) {
        // What was taken out leaves runs of empty lines.
        if !(blank && line.trim().is_empty()) {
            text.push_str(line);
            text.push('\n');
        }
        blank = line.trim().is_empty();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_directives_are_left_out() {
        let ptx = "\
.version 8.0

.file\t1 \"a.rs\"

.visible .entry k()
{
\t.local .b8 depot[8];
$L__func_begin7:
\t.loc\t15 33 0
$L__BB7_1:
$L__tmp130:
\tret;
	.loc	15 34 0, function_name $L__info_string0, inlined_at 15 33 0
	ret;
$L__func_end7:

}
	.section	.debug_str
	{
$L__info_string0:
.b8 104,0
	}
";
        assert_eq!(
            without_lines(ptx),
            ".version 8.0\n\n.visible .entry k()\n{\n\t.local .b8 depot[8];\n$L__BB7_1:\n\tret;\n\tret;\n\n}\n"
        );
    }
}
