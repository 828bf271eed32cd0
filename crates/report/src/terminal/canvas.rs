//! A grid of characters to draw on, with dots finer than a character where there is braille.
//!
//! A character of braille has two columns of four dots, so that a curve over 60 characters by 10 has 120 by 40 dots. Without
//! Unicode a character has one dot, which is drawn as a full stop.

use super::style::{Ink, Style};

/// Bits of a braille character's dots: of the left column from the top, then of the right one.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The braille character without dots.
const BLANK: u32 = 0x2800;

/// The content of a cell.
#[derive(Clone, Copy)]
enum Mark {
    Nothing,
    Dots(u32),
    Glyph(char),
}

/// A grid of characters.
pub(super) struct Canvas {
    style: Style,
    width: usize,
    cells: Vec<(Mark, Ink)>,
}

impl Canvas {
    /// An empty one.
    pub(super) fn new(width: usize, height: usize, style: Style) -> Canvas {
        Canvas { style, width, cells: vec![(Mark::Nothing, Ink::Plain); width * height] }
    }

    /// Lines of characters.
    pub(super) fn height(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    /// Dots across and down.
    pub(super) fn dots(&self) -> (usize, usize) {
        let (across, down) = self.style.either((2, 4), (1, 1));
        (across * self.width, down * self.height())
    }

    /// Puts a character into a place, over what is there.
    pub(super) fn glyph(&mut self, column: usize, line: usize, glyph: char, ink: Ink) {
        if column < self.width
            && let Some(cell) = self.cells.get_mut(line * self.width + column)
        {
            *cell = (Mark::Glyph(glyph), ink);
        }
    }

    /// Puts a character into a place where nothing is; returns whether it did.
    pub(super) fn shade(&mut self, column: usize, line: usize, glyph: char, ink: Ink) -> bool {
        let free = column < self.width
            && self
                .cells
                .get(line * self.width + column)
                .is_some_and(|(mark, _)| matches!(mark, Mark::Nothing));
        if free {
            self.glyph(column, line, glyph, ink);
        }
        free
    }

    /// Puts a character into the place of a dot.
    pub(super) fn glyph_at(&mut self, (x, y): (usize, usize), glyph: char, ink: Ink) {
        let (across, down) = self.style.either((2, 4), (1, 1));
        self.glyph(x / across, y / down, glyph, ink);
    }

    /// Draws a straight line of dots, from the left to the right.
    pub(super) fn line(&mut self, from: (usize, usize), to: (usize, usize), ink: Ink) {
        let (width, height) = (to.0.abs_diff(from.0), to.1.abs_diff(from.1));
        let steps = width.max(height).max(1);
        let between = |from: usize, to: usize, step: usize| {
            (from as f64 + (to as f64 - from as f64) * step as f64 / steps as f64).round() as usize
        };
        for step in 0..=steps {
            self.dot((between(from.0, to.0, step), between(from.1, to.1, step)), ink);
        }
    }

    /// Draws a dot, over a ceiling and beside other dots.
    fn dot(&mut self, (x, y): (usize, usize), ink: Ink) {
        if !self.style.unicode {
            self.glyph(x, y, '.', ink);
            return;
        }
        let (column, line) = (x / 2, y / 4);
        if column < self.width
            && let Some(cell) = self.cells.get_mut(line * self.width + column)
        {
            let known = match cell.0 {
                Mark::Dots(dots) => dots,
                _ => 0,
            };
            *cell = (Mark::Dots(known | DOTS[x % 2][y % 4]), ink);
        }
    }

    /// The lines, with runs of one ink painted together and no spaces at their ends.
    pub(super) fn lines(&self) -> Vec<String> {
        self.cells.chunks(self.width.max(1)).map(|cells| self.text(cells)).collect()
    }

    fn text(&self, cells: &[(Mark, Ink)]) -> String {
        let mut runs: Vec<(String, Ink)> = Vec::new();
        for (mark, ink) in cells {
            let (glyph, ink) = match mark {
                Mark::Nothing => (' ', Ink::Plain),
                Mark::Dots(dots) => (char::from_u32(BLANK | dots).unwrap_or(' '), *ink),
                Mark::Glyph(glyph) => (*glyph, *ink),
            };
            match runs.last_mut() {
                Some((text, last)) if *last == ink => text.push(glyph),
                _ => runs.push((glyph.to_string(), ink)),
            }
        }
        runs.iter().map(|(text, ink)| self.style.paint(*ink, text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_braille_dots_or_full_stops() {
        let drawn = |style: Style| {
            let mut canvas = Canvas::new(3, 2, style);
            let (across, down) = canvas.dots();
            canvas.line((0, down - 1), (across - 1, 0), Ink::Plain);
            canvas.glyph_at((0, down - 1), 'x', Ink::Series(0));
            canvas.lines()
        };
        assert_eq!(drawn(Style::default()), [" ⢀⠎", "x⠁ "].map(str::to_string));
        assert_eq!(drawn(Style { unicode: false, ..Style::default() }), ["  .", "x. "].map(str::to_string));
        let coloured = drawn(Style { colour: true, ..Style::default() });
        assert_eq!(coloured[1], "\x1b[36mx\x1b[0m⠁ ");
    }
}
