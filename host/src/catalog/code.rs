//! The PTX of single kernels, each line with the line of Rust that it comes from.

use crate::kernels;
use report::{CodeLine, Place};
use simt::ptx::{self, lines::origins};
use std::collections::BTreeMap;

/// The PTX of every kernel that the program carries, for the newest architecture that it has, or the one that the kernel
/// names. Empty where the text cannot be read, which loading it says in full.
pub(super) fn of_kernels() -> BTreeMap<String, Vec<CodeLine>> {
    kernels::shown().unwrap_or_default().iter().flat_map(|artefact| of_text(artefact.ptx)).collect()
}

fn of_text(text: &str) -> BTreeMap<String, Vec<CodeLine>> {
    let Ok(module) = ptx::parse(text) else { return BTreeMap::new() };
    let places: BTreeMap<u32, Option<Place>> = origins(&module)
        .iter()
        .map(|origin| {
            let own = origin.user_line().filter(|line| !line.in_library());
            (origin.ptx_line, own.map(|line| Place { file: line.file.to_string(), line: line.line }))
        })
        .collect();
    let mut kernels = BTreeMap::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let Some(name) = entry(line) else { continue };
        let code = |(number, line): (u32, &str)| CodeLine {
            text: line.to_string(),
            place: places.get(&number).cloned().flatten(),
        };
        let mut body = vec![code((number, line))];
        // Inline assembly has blocks within the kernel's.
        let mut depth = 0;
        for (number, line) in lines.by_ref() {
            if !is_for_debuggers(line) {
                body.push(code((number, line)));
            }
            depth += braces(line);
            if depth == 0 && line.trim_end().ends_with('}') {
                break;
            }
        }
        // What was left out leaves empty lines.
        body.dedup_by(|next, line| next.text.trim().is_empty() && line.text.trim().is_empty());
        kernels.insert(name.to_string(), body);
    }
    kernels
}

/// The name of the kernel that begins in a line.
fn entry(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(".entry ")?;
    let end =
        rest.find(|letter: char| !(letter.is_alphanumeric() || "_$%".contains(letter))).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// How many more blocks begin in a line than end there.
fn braces(line: &str) -> i32 {
    let code = line.split("//").next().unwrap_or_default();
    code.chars().map(|letter| i32::from(letter == '{') - i32::from(letter == '}')).sum()
}

/// Whether a line ties instructions to lines of source, and does nothing else.
fn is_for_debuggers(line: &str) -> bool {
    let line = line.trim();
    let label = ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|start| line.starts_with(start));
    line.starts_with(".loc") || label && line.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_s_ptx_has_its_lines_and_no_others() {
        let kernels = of_kernels();
        let text =
            |name: &str| kernels[name].iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        let offset = text("offset_f32");
        assert!(offset.starts_with(".visible .entry offset_f32(") && offset.ends_with('}'), "{offset}");
        assert!(
            offset.contains("ld.global.b32") && !offset.contains(".loc") && !offset.contains("$L__tmp"),
            "{offset}"
        );
        assert_eq!(offset.matches(".entry").count(), 1);
        let load =
            kernels["offset_f32"].iter().find(|line| line.text.contains("ld.global.b32")).expect("a load");
        let place = load.place.as_ref().expect("its line");
        assert!(place.file.ends_with("gpu-kernels/src/coalescing.rs") && place.line > 40, "{place:?}");
        assert_eq!(kernels["offset_f32"][0].place, None, "a declaration");
    }

    #[test]
    fn kernels_of_an_architecture_of_their_own_have_theirs() {
        let kernels = of_kernels();
        let multiply =
            kernels["matmul_overlapped"].iter().filter(|line| line.text.contains("wgmma.mma_async"));
        let places: Vec<&Place> = multiply.filter_map(|line| line.place.as_ref()).collect();
        assert!(!places.is_empty(), "no wgmma, or without its line");
        let file = "gpu-kernels/src/unchecked/tensor/overlapped.rs";
        assert!(places.iter().all(|place| place.file.ends_with(file)), "{places:?}");
    }
}
