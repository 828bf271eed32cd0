//! The [`Catalog`]: what reports say of the experiments and kernels beside records.

mod code;
pub(crate) mod sass;

use crate::experiments;
use report::{Catalog, KernelText, Lesson};
use std::{fs, path::Path, sync::LazyLock};

/// The files of gpu-kernels that the build script found: paths from the repository's root, and texts.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The experiments and kernels of this program.
pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
        let lessons = experiments::ALL.iter().map(|experiment| Lesson {
            name: experiment.name(),
            summary: experiment.summary(),
            reading: experiment.reading(),
            prose: prose(&source(&format!("gpu-kernels/src/{}.rs", experiment.module()))),
            articles: experiment.articles(),
            picture: experiment.picture(),
            finding: experiment.finding(),
        });
        Catalog { lessons: lessons.collect(), kernels: kernels() }
    });
    &CATALOG
}

/// The kernels of all experiments, each once, with the files that they are in.
fn kernels() -> Vec<KernelText> {
    let sources: Vec<(&'static str, String)> =
        SOURCES.iter().map(|(path, _)| (*path, source(path))).collect();
    let code = code::of_kernels();
    let mut kernels: Vec<KernelText> = Vec::new();
    for experiment in experiments::ALL {
        for kernel in experiment.kernels() {
            if kernels.iter().any(|known| known.name == kernel.name) {
                continue;
            }
            let in_file = |(path, source): &(&'static str, String)| {
                let text = source.contains(kernel.name).then(|| KernelText {
                    name: kernel.name,
                    experiment: experiment.name(),
                    parameters: kernel.parameters(),
                    contract: kernel.contract(),
                    file: path,
                    source: source.clone(),
                    ptx: code.get(kernel.name).cloned().unwrap_or_default(),
                });
                text.filter(|text| text.function().is_some())
            };
            kernels.extend(sources.iter().find_map(in_file));
        }
    }
    kernels
}

/// A source file of gpu-kernels: as it is now in the checkout that the program was built in, or else as it was then.
fn source(path: &str) -> String {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(checkout).unwrap_or_else(|_| {
        SOURCES
            .iter()
            .find(|(known, _)| *known == path)
            .map(|(_, text)| (*text).to_string())
            .unwrap_or_default()
    })
}

/// The comment at the head of a module, as Markdown.
fn prose(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lesson_has_its_text() {
        for lesson in &catalog().lessons {
            assert!(lesson.prose.starts_with("# "), "{}: {:?}", lesson.name, lesson.prose.lines().next());
        }
    }

    #[test]
    fn every_kernel_is_found_in_its_file() {
        for kernel in experiments::ALL.iter().flat_map(|experiment| experiment.kernels()) {
            let text =
                catalog().kernel(kernel.name).unwrap_or_else(|| panic!("{} is in no file", kernel.name));
            assert!(text.file.starts_with("gpu-kernels/src/"), "{}", text.file);
            assert!(!text.summary().is_empty(), "{} has no documentation", kernel.name);
            assert_eq!(text.parameters, kernel.parameters());
        }
        let stride = catalog().kernel("stride_f64").expect("a kernel");
        assert_eq!((stride.file, stride.experiment), ("gpu-kernels/src/coalescing.rs", "stride"));
        assert_eq!(stride.summary(), "`a[i * s] += 1`, one thread per element.");
    }
}
