//! Numbered places for subscribers, in chunks that go away when they are empty.

use std::collections::BTreeSet;

use crate::limits::CHUNK_SLOTS;

/// A table of values with small stable numbers. Free numbers are used again, the lowest chunk
/// first, so that the chunks at the end empty and their memory returns.
pub(crate) struct Slots<T> {
    chunks: Vec<Chunk<T>>,
    /// Chunks with a free place.
    roomy: BTreeSet<usize>,
}

struct Chunk<T> {
    cells: Vec<Cell<T>>,
    /// The first free cell, if one is among `cells`.
    free: Option<u16>,
    used: usize,
}

enum Cell<T> {
    Used(T),
    /// The next free cell.
    Free(Option<u16>),
}

const _: () = assert!(CHUNK_SLOTS <= 1 << 16, "a cell's number fits two bytes");

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), roomy: BTreeSet::new() }
    }

    /// Puts a value into a free place and returns its number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let at = match self.roomy.first() {
            Some(at) => *at,
            None => {
                self.chunks.push(Chunk { cells: Vec::new(), free: None, used: 0 });
                self.roomy.insert(self.chunks.len() - 1);
                self.chunks.len() - 1
            }
        };
        let chunk = &mut self.chunks[at];
        let cell = chunk.insert(value);
        if chunk.used == CHUNK_SLOTS {
            self.roomy.remove(&at);
        }
        u32::try_from(at * CHUNK_SLOTS + cell).expect("fewer than 2^32 subscribers fit in memory")
    }

    /// The value with this number, if there is one.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let (chunk, cell) = split(number);
        match self.chunks.get(chunk)?.cells.get(cell)? {
            Cell::Used(value) => Some(value),
            Cell::Free(_) => None,
        }
    }

    /// The value with this number, if there is one.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (chunk, cell) = split(number);
        match self.chunks.get_mut(chunk)?.cells.get_mut(cell)? {
            Cell::Used(value) => Some(value),
            Cell::Free(_) => None,
        }
    }

    /// Takes the value with this number out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let (at, cell) = split(number);
        let value = self.chunks.get_mut(at)?.remove(cell)?;
        self.roomy.insert(at);
        Some(value)
    }

    /// All values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| &chunk.cells).filter_map(|cell| match cell {
            Cell::Used(value) => Some(value),
            Cell::Free(_) => None,
        })
    }

    /// Bytes on the heap, without what the values hold there.
    pub(crate) fn heap_bytes(&self) -> usize {
        let cells: usize = self.chunks.iter().map(|chunk| chunk.cells.capacity()).sum();
        cells * size_of::<Cell<T>>() + self.chunks.capacity() * size_of::<Chunk<T>>()
    }
}

impl<T> Chunk<T> {
    fn insert(&mut self, value: T) -> usize {
        self.used += 1;
        let Some(free) = self.free else {
            self.cells.push(Cell::Used(value));
            return self.cells.len() - 1;
        };
        let cell = &mut self.cells[usize::from(free)];
        let Cell::Free(next) = std::mem::replace(cell, Cell::Used(value)) else {
            unreachable!("the free list holds free cells");
        };
        self.free = next;
        usize::from(free)
    }

    fn remove(&mut self, at: usize) -> Option<T> {
        let cell = self.cells.get_mut(at).filter(|cell| matches!(cell, Cell::Used(_)))?;
        let Cell::Used(value) = std::mem::replace(cell, Cell::Free(self.free)) else {
            unreachable!("the cell was just seen to be in use");
        };
        self.free = Some(at as u16);
        self.used -= 1;
        if self.used == 0 {
            self.cells = Vec::new();
            self.free = None;
        }
        Some(value)
    }
}

fn split(number: u32) -> (usize, usize) {
    (number as usize / CHUNK_SLOTS, number as usize % CHUNK_SLOTS)
}
