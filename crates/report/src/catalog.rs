//! What the laboratory knows of its lessons and kernels beside the records of a run.

use record::Record;

/// The lessons and kernels.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The lessons, in the order in which they are taught.
    pub lessons: Vec<Lesson>,
    /// The kernels.
    pub kernels: Vec<KernelText>,
}

impl Catalog {
    /// The lesson of an experiment; `None` for one that the program does not have, as in records of another version.
    pub fn lesson(&self, experiment: &str) -> Option<&Lesson> {
        self.lessons.iter().find(|lesson| lesson.name == experiment)
    }

    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&KernelText> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// An experiment as a lesson.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The experiment's name.
    pub name: &'static str,
    /// One line on what it shows.
    pub summary: &'static str,
    /// A sentence or two on how to read its table.
    pub reading: &'static str,
    /// The lesson's text in Markdown: the comment at the head of its kernels' module.
    pub prose: String,
    /// The articles and books that it comes from.
    pub articles: &'static [Article],
    /// What is drawn of it.
    pub picture: Picture,
    /// What its rows show, in a sentence; `None` where they show too little of it to say.
    pub finding: fn(&[&Record]) -> Option<String>,
}

/// An article or a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Article {
    /// Its title; of a book with the chapter.
    pub title: &'static str,
    /// Who wrote it.
    pub author: &'static str,
    /// The year of publication.
    pub year: u16,
    /// Where it can be read or bought.
    pub url: &'static str,
}

/// How a lesson's rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Bandwidth over a parameter, a curve for each kernel and element type.
    Curve {
        /// The parameter: the swept one, or one by its name.
        over: &'static str,
        /// The other parameters that tell curves apart.
        by: &'static [&'static str],
        /// True where the curve that sectors predict belongs behind the measured one.
        sectors: bool,
    },
    /// A bar for each row, with the copy ceiling.
    Bars {
        /// The parameters that tell bars of one kernel apart.
        by: &'static [&'static str],
    },
    /// Rate of arithmetic over arithmetic intensity, under the device's roofs.
    Roofline,
}

/// A kernel's source and what it was compiled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelText {
    /// The kernel's name.
    pub name: &'static str,
    /// The experiment that runs it.
    pub experiment: &'static str,
    /// The source file, from the repository's root.
    pub file: &'static str,
    /// The whole text of that file.
    pub source: String,
    /// The kernel's PTX, line by line, without the module's other kernels and without debug sections.
    pub ptx: Vec<CodeLine>,
}

/// A line of PTX or SASS, and the line of source that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// The line, without its end.
    pub text: String,
    /// Where in the user's own source it comes from; `None` for declarations, labels and braces.
    pub place: Option<Place>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as the compiler was told of it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}
