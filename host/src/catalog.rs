//! The [`Catalog`]: what reports say of the experiments and kernels beside records.

use crate::experiments;
use report::{Catalog, Lesson};
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
        Catalog { lessons: lessons.collect(), kernels: Vec::new() }
    });
    &CATALOG
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
}
