//! The laboratory's lessons and kernels, besides the records of a run.

use record::Record;
use std::ops::RangeInclusive;

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
    /// Its picture.
    pub picture: Picture,
    /// The finding of its rows, in a sentence; `None` if the rows that show it are missing.
    pub finding: fn(&[&Record]) -> Option<String>,
}

/// An article or a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Article {
    /// Its title; of a book with the chapter.
    pub title: &'static str,
    /// Its author.
    pub author: &'static str,
    /// The year of publication.
    pub year: u16,
    /// Its address.
    pub url: &'static str,
}

/// How a lesson's rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// The rows' figure over a parameter, a curve for each kernel and element type.
    Curve {
        /// The parameter: the swept one, or one by its name.
        over: &'static str,
        /// The other parameters that tell curves apart.
        by: &'static [&'static str],
        /// True where the curve that sectors predict belongs behind the measured one.
        sectors: bool,
    },
    /// A grid of the rows' figures over two parameters, coloured by size; one for each kernel.
    Map {
        /// The parameter of the columns.
        x: &'static str,
        /// The parameter of the rows.
        y: &'static str,
    },
    /// A matrix of the driver's copies by the ends of each, coloured by size, one for all cards of a machine. Other rows have bars, as for
    /// [`Bars`](Self::Bars).
    Matrix {
        /// The parameter that names where a row goes to.
        to: &'static str,
        /// The parameter that names where it comes from.
        from: &'static str,
        /// The parameters that tell bars of one kernel apart.
        by: &'static [&'static str],
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelText {
    /// The kernel's name.
    pub name: &'static str,
    /// The experiment that runs it.
    pub experiment: &'static str,
    /// The parameters that a launch passes, such as `nx: Extent<Nx>`.
    pub parameters: Vec<String>,
    /// The clauses of the launch contract.
    pub contract: Vec<String>,
    /// The source file, from the repository's root.
    pub file: &'static str,
    /// The whole text of that file.
    pub source: String,
    /// The kernel's PTX, line by line, without the module's other kernels and without debug sections.
    pub ptx: Vec<CodeLine>,
}

impl KernelText {
    /// The lines of the kernel's function in its source, from 1: from its head to its closing brace. `None` where the source
    /// does not have it.
    ///
    /// The function has the kernel's name, or stands below a `#[kernel(name = <f32>)]` that makes the kernel of it.
    ///
    /// ```
    /// let source = "#[kernel(fill_f32 = <f32>)]\npub fn fill<T>(a: Out<T>) {\n    a.put(T::ONE);\n}\n".to_string();
    /// let kernel = report::KernelText { name: "fill_f32", source, ..Default::default() };
    /// assert_eq!(kernel.function(), Some(2..=4));
    /// ```
    pub fn function(&self) -> Option<RangeInclusive<usize>> {
        let lines: Vec<&str> = self.source.lines().collect();
        let is_head = |line: &str, name: &str| {
            let head = line.trim_start().split_once("fn ").filter(|(before, _)| {
                before.split_whitespace().all(|word| matches!(word, "pub" | "unsafe" | "const"))
            });
            head.and_then(|(_, rest)| rest.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with(['(', '<']))
        };
        // The attribute and what else stands between it and the head.
        let attributes = |head: usize| {
            let above =
                lines[..head].iter().rev().take_while(|line| !line.trim().is_empty() && line.trim() != "}");
            let mut above: Vec<&str> =
                above.map(|line| line.trim()).filter(|line| !line.starts_with("//")).collect();
            above.reverse();
            above.join(" ")
        };
        let instance = format!("{} = ", self.name);
        let is_kernel = |head: &usize| {
            let attributes = attributes(*head);
            let is_instance = || {
                attributes.split([' ', '(']).collect::<Vec<_>>().join(" ").contains(&format!(" {instance}"))
            };
            attributes.contains("#[kernel") && (is_head(lines[*head], self.name) || is_instance())
        };
        let head = (0..lines.len()).filter(|at| lines[*at].contains("fn ")).find(is_kernel)?;
        let indent = lines[head].len() - lines[head].trim_start().len();
        let brace = format!("{}}}", " ".repeat(indent));
        let length = lines[head..].iter().position(|line| *line == brace)?;
        Some(head + 1..=head + length + 1)
    }

    /// The first sentence of the kernel's documentation, without Markdown's marks; empty where it has none.
    pub fn summary(&self) -> String {
        let lines: Vec<&str> = self.source.lines().collect();
        let Some(function) = self.function() else { return String::new() };
        let above = lines[..function.start() - 1].iter().rev().map(|line| line.trim());
        // The attribute and comments to the tools stand between the documentation and the head.
        let above = above.take_while(|line| !line.is_empty() && *line != "}");
        let mut text: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).map(str::trim).collect();
        text.reverse();
        let paragraph = text.split(|line| line.is_empty()).next().unwrap_or_default().join(" ");
        let plain = crate::explain::plain(&paragraph);
        let end = plain.find(". ").map_or(plain.len(), |end| end + 1);
        plain[..end].to_string()
    }
}

/// A line of PTX or SASS, and the line of source that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// The line, without its end.
    pub text: String,
    /// Its line in the user's own source; `None` for declarations, labels and braces.
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
