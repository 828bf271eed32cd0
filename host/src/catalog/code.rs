//! The PTX of single kernels, each line with the line of Rust that it comes from.

use crate::kernels;
use report::{CodeLine, Place};
use simt::ptx::{
    self,
    lines::origins,
    outline::{Item, Outline, lines_without_debugging},
};
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
    let lines = lines_without_debugging(text);
    let code = |item: &Item<'_>| {
        let own = lines.iter().filter(|(number, _)| item.lines.contains(number));
        let line = |&(number, text): &(u32, &str)| CodeLine {
            text: text.to_string(),
            place: places.get(&number).cloned().flatten(),
        };
        (item.name.to_string(), own.map(line).collect())
    };
    Outline::of(text).items.iter().filter(|item| item.is_entry()).map(code).collect()
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
