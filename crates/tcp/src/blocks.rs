//! Pieces of a stream in order, in blocks of bounded size: full ones but where something was put in between, so that a piece costs little
//! more than its own bytes (a tree map takes twice that) however many thousands a window has lost.
//!
//! Finding one is a binary search over the blocks and one inside a block; putting one in or taking one out moves at most a block. At both
//! ends, where nearly all of the work is, nothing moves.

use std::cell::Cell;
use std::collections::VecDeque;

/// The most pieces in a block.
pub(super) const BLOCK: usize = if cfg!(test) { 4 } else { 128 };

/// Bytes of a stream, and perhaps something about them.
pub(super) trait Piece: Copy {
    /// One past the last byte.
    fn end(&self) -> u64;
}

/// Disjoint pieces, by offset.
#[derive(Clone, Debug)]
pub(super) struct Blocks<T> {
    /// Blocks of pieces; none is empty.
    blocks: VecDeque<VecDeque<T>>,
    /// Where the last search ended: retransmissions fill one hole after the other. There may be something else by now.
    found: Cell<(u32, u32)>,
}

/// A place among them: block, and piece in it.
pub(super) type Place = (usize, usize);

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks { blocks: VecDeque::new(), found: Cell::default() }
    }
}

impl<T: Piece> Blocks<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Returns all pieces, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        self.blocks.iter().flatten().copied()
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<T> {
        self.blocks.back().and_then(VecDeque::back).copied()
    }

    /// The place of the first piece that ends at or after `offset` (behind the last, if none does).
    #[inline]
    pub(crate) fn first_reaching(&self, offset: u64) -> Place {
        let found = self.found.get();
        let place = (found.0 as usize, found.1 as usize);
        if self.reaches_first(place, offset) {
            return place;
        }
        let place = self.search(offset);
        self.found.set((place.0 as u32, place.1 as u32));
        place
    }

    /// Returns true if the piece at a place is there, and the first that ends at or after `offset`. (Not for the first of a block but the
    /// first.)
    #[inline]
    fn reaches_first(&self, (block, within): Place, offset: u64) -> bool {
        self.blocks.get(block).is_some_and(|pieces| {
            pieces.get(within).is_some_and(|piece| piece.end() >= offset)
                && within.checked_sub(1).map_or(block == 0, |before| pieces[before].end() < offset)
        })
    }

    /// Searches for the place of [`Self::first_reaching`].
    #[inline(never)]
    fn search(&self, offset: u64) -> Place {
        // Most are in the first block or the last.
        let last = self.blocks.len().saturating_sub(1);
        let before = |block: &VecDeque<T>| block.back().is_some_and(|last| last.end() < offset);
        let block = match self.blocks.front() {
            Some(first) if !before(first) => 0,
            Some(_) if last > 0 && before(&self.blocks[last - 1]) => last,
            _ => self.blocks.partition_point(before),
        };
        let Some(pieces) = self.blocks.get(block) else { return (block, 0) };
        // Within the block, most are at the first piece or the last.
        let len = pieces.len();
        let within = match pieces.front() {
            Some(first) if first.end() >= offset => 0,
            _ if len > 1 && pieces[len - 2].end() < offset => len - usize::from(pieces[len - 1].end() >= offset),
            _ => pieces.partition_point(|piece| piece.end() < offset),
        };
        if within == len { (block + 1, 0) } else { (block, within) }
    }

    #[inline]
    pub(crate) fn get(&self, (block, within): Place) -> Option<T> {
        self.blocks.get(block).and_then(|pieces| pieces.get(within)).copied()
    }

    /// The piece at a place where there is one.
    #[inline]
    pub(crate) fn at(&mut self, (block, within): Place) -> &mut T {
        &mut self.blocks[block][within]
    }

    /// The place behind that of a piece.
    #[inline]
    pub(crate) fn after(&self, (block, within): Place) -> Place {
        if within + 1 < self.blocks[block].len() { (block, within + 1) } else { (block + 1, 0) }
    }

    /// Takes the piece at a place out; the place of the one behind it.
    pub(crate) fn remove(&mut self, (block, within): Place) -> Place {
        self.blocks[block].remove(within);
        match self.blocks[block].len() {
            0 => {
                self.blocks.remove(block);
                (block, 0)
            }
            len if within == len => (block + 1, 0),
            _ => (block, within),
        }
    }

    /// Puts a piece in at a place, before what is there.
    pub(crate) fn put(&mut self, (block, within): Place, piece: T) {
        // Behind the end of one block is before the start of the next: the block that is there already takes it.
        let (block, within) = if within == 0 && block > 0 { (block - 1, self.blocks[block - 1].len()) } else { (block, within) };
        let Some(pieces) = self.blocks.get_mut(block) else {
            if self.blocks.capacity() == 0 {
                // Nearly every set has one block only.
                self.blocks.reserve_exact(1);
            }
            self.blocks.push_back(VecDeque::from([piece]));
            return;
        };
        if pieces.len() < BLOCK {
            if pieces.len() == pieces.capacity() {
                // Small sets stay small.
                pieces.reserve_exact((pieces.len() + 4).min(BLOCK - pieces.len()));
            }
            pieces.insert(within, piece);
        } else if within == BLOCK {
            self.blocks.insert(block + 1, VecDeque::from([piece]));
        } else {
            let rest = pieces.split_off(BLOCK / 2);
            let (at, within) = if within <= BLOCK / 2 { (block, within) } else { (block + 1, within - BLOCK / 2) };
            self.blocks.insert(block + 1, rest);
            self.blocks[at].insert(within, piece);
        }
    }

    /// The first one.
    #[inline]
    pub(crate) fn first(&self) -> Option<T> {
        self.get((0, 0))
    }

    /// Takes out what ends at or before `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        while let Some(block) = self.blocks.front_mut() {
            while block.front().is_some_and(|piece| piece.end() <= offset) {
                block.pop_front();
            }
            if !block.is_empty() {
                return;
            }
            self.blocks.pop_front();
        }
    }

    #[cfg(test)]
    pub(crate) fn are_in_shape(&self) -> bool {
        self.blocks.iter().all(|block| !block.is_empty() && block.len() <= BLOCK)
    }
}
