//! The frame around each chart: its title, its drawings for wide and for narrow columns, and its table.

use maud::{Markup, html};

/// A chart of one run.
pub(super) struct Figure {
    /// The prefix of its ids.
    pub id: String,
    /// The subject, the card, and whether the figures are measured or modelled.
    pub title: String,
    /// The text for a reader who does not see the drawing.
    pub description: String,
    /// How to read it, below the drawing.
    pub notes: Vec<String>,
    /// The drawing for a column of each width.
    pub drawings: Vec<Drawing>,
    /// The same numbers as a table.
    pub table: Markup,
}

/// A drawing of a given size.
pub(super) struct Drawing {
    /// For which columns it is.
    pub column: Column,
    /// Its height in pixels.
    pub height: f64,
    /// Its content.
    pub marks: Markup,
}

/// The columns that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Of a desk's screen or a sheet of paper.
    Wide,
    /// Of a telephone, or one of several charts side by side.
    Narrow,
    /// Of any: a drawing with few words in it.
    Middle,
}

impl Column {
    /// Those that a drawing with many words is made for, each by itself.
    pub(super) const ALL: [Column; 2] = [Column::Wide, Column::Narrow];

    /// The width that is drawn on, in pixels.
    pub(super) const fn width(self) -> f64 {
        match self {
            Column::Wide => 760.0,
            Column::Narrow => 340.0,
            Column::Middle => 400.0,
        }
    }

    /// The class that shows or hides it.
    fn class(self) -> &'static str {
        match self {
            Column::Wide => "wide",
            Column::Narrow => "narrow",
            Column::Middle => "middle",
        }
    }
}

impl Figure {
    /// The figure as an element.
    pub(super) fn render(&self) -> Markup {
        html! {
            figure.chart id=(self.id) {
                figcaption { (self.title) }
                @for drawing in &self.drawings { (self.drawing(drawing)) }
                @for note in &self.notes { p.note { (note) } }
                details.table {
                    summary { "The numbers as a table" }
                    (self.table)
                }
            }
        }
    }

    fn drawing(&self, drawing: &Drawing) -> Markup {
        let (class, width) = (drawing.column.class(), drawing.column.width());
        let [title, description] = ["title", "desc"].map(|part| format!("{}-{class}-{part}", self.id));
        html! {
            svg.{(class)} role="img" aria-labelledby={(title) " " (description)}
                viewBox={"0 0 " (width) " " (drawing.height)} {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (drawing.marks)
            }
        }
    }
}

/// A table of numbers that scrolls by itself where it is wider than the column.
pub(super) fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (table) } }
}

/// The definitions that all drawings share: the hatching of modelled figures.
pub(super) fn definitions() -> Markup {
    html! {
        svg.definitions width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                pattern #hatch width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line x1="0" y1="0" x2="0" y2="6" {}
                }
            }
        }
    }
}
