//! Turns among classes that may all send: deficit round robin, apart for each height of the lender and each priority.

use std::collections::BTreeMap;

/// Height of the lending class, and the priority: the least comes first.
pub(super) type Ring = (usize, u64);

/// Turns of the leaves.
#[derive(Debug)]
pub(super) struct Turns {
    /// Bytes that each leaf gains per turn.
    quanta: Vec<u64>,
    rings: BTreeMap<Ring, Round>,
}

#[derive(Debug)]
struct Round {
    /// Leaf whose turn it is.
    at: usize,
    /// Bytes that each leaf may still send in its turn; negative once it has sent more.
    credit: Vec<i64>,
}

impl Turns {
    pub(super) fn new(quanta: Vec<u64>) -> Self {
        Turns { quanta, rings: BTreeMap::new() }
    }

    /// Returns the leaf whose turn it is in `ring`, among those that are `in` it, of which there is at least one.
    pub(super) fn next(&mut self, ring: Ring, is_in: impl Fn(usize) -> bool) -> usize {
        let Turns { quanta, rings } = self;
        let credit = || quanta.iter().map(|quantum| *quantum as i64).collect();
        let round = rings.entry(ring).or_insert_with(|| Round { at: 0, credit: credit() });
        loop {
            let leaf = round.at;
            if is_in(leaf) {
                if round.credit[leaf] > 0 {
                    return leaf;
                }
                round.credit[leaf] += quanta[leaf] as i64;
            }
            round.at = (leaf + 1) % quanta.len();
        }
    }

    /// Accounts for bytes that the leaf sent in its turn.
    pub(super) fn sent(&mut self, ring: Ring, leaf: usize, len: u32) {
        self.rings.get_mut(&ring).expect("it was given its turn").credit[leaf] -= i64::from(len);
    }
}
