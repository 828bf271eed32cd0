//! A table of pages by number, which are made when they are asked for.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

/// Pages by their number.
///
/// A number's high bits choose a chunk and its low bits a place there. The pages and the chunks found last are remembered, so
/// random numbers within a few gigabytes of memory are found without hashing.
#[derive(Debug)]
pub(super) struct Pages<T> {
    /// Places in `tables`, by chunk.
    chunks: HashMap<u64, usize>,
    /// Of each chunk the places in `pages` plus 1, by page; 0 for pages that are not there.
    tables: Vec<Box<[u32]>>,
    /// Numbers of chunks plus 1 and their places, by the lowest bits of the number. Empty while there is no page.
    recent_chunks: Vec<(u64, usize)>,
    /// Numbers of pages plus 1 and their places, by the lowest bits of the number. Empty while there is no page.
    recent: Vec<(u64, usize)>,
    pages: Vec<T>,
}

/// Pages per chunk.
const CHUNK: u64 = 1024;

/// Chunks and pages that are remembered.
const RECENT: usize = 256;

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self {
            chunks: HashMap::new(),
            tables: Vec::new(),
            recent_chunks: Vec::new(),
            recent: Vec::new(),
            pages: Vec::new(),
        }
    }
}

impl<T: Default> Pages<T> {
    /// Returns the page of this number.
    #[inline(always)]
    pub(super) fn at(&mut self, number: u64) -> &mut T {
        let place = self.place(number);
        &mut self.pages[place]
    }

    /// Returns the place of the page of this number.
    #[inline(always)]
    pub(super) fn place(&mut self, number: u64) -> usize {
        match self.recent.get(number as usize % RECENT) {
            Some(&(known, place)) if known == number + 1 => place,
            _ => self.find(number),
        }
    }

    #[inline(never)]
    fn find(&mut self, number: u64) -> usize {
        self.recent_chunks.resize(RECENT, (0, 0));
        self.recent.resize(RECENT, (0, 0));
        let chunk = number / CHUNK;
        let table = match self.recent_chunks[chunk as usize % RECENT] {
            (known, table) if known == chunk + 1 => table,
            _ => self.table(chunk),
        };
        let place = &mut self.tables[table][(number % CHUNK) as usize];
        if *place == 0 {
            self.pages.push(T::default());
            *place = self.pages.len() as u32;
        }
        let place = *place as usize - 1;
        self.recent[number as usize % RECENT] = (number + 1, place);
        place
    }

    /// Returns all pages that are there.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut()
    }

    #[cold]
    fn table(&mut self, chunk: u64) -> usize {
        let table = *self.chunks.entry(chunk).or_insert_with(|| {
            self.tables.push(vec![0; CHUNK as usize].into());
            self.tables.len() - 1
        });
        self.recent_chunks[chunk as usize % RECENT] = (chunk + 1, table);
        table
    }
}

impl<T> Index<usize> for Pages<T> {
    type Output = T;

    fn index(&self, place: usize) -> &T {
        &self.pages[place]
    }
}

impl<T> IndexMut<usize> for Pages<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.pages[place]
    }
}
