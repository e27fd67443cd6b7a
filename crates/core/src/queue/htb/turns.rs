//! Whose turn it is among classes that may all send: deficit round robin, apart for each height of who lends and each priority.

use std::collections::BTreeMap;

/// How high the class is that lends, and the priority: the least comes first.
pub type Ring = (usize, u64);

/// The turns of so many leaves.
#[derive(Debug)]
pub struct Turns {
    /// Bytes that each gains in a turn.
    quanta: Vec<u64>,
    rings: BTreeMap<Ring, Round>,
}

#[derive(Debug)]
struct Round {
    /// The leaf that has its turn.
    at: usize,
    /// Bytes that each may still send in its turn; less than nothing once it has sent more.
    credit: Vec<i64>,
}

impl Turns {
    pub fn new(quanta: Vec<u64>) -> Self {
        Turns { quanta, rings: BTreeMap::new() }
    }

    /// The leaf whose turn it is in `ring`, of those that are `in` it, of which there is one.
    pub fn next(&mut self, ring: Ring, is_in: impl Fn(usize) -> bool) -> usize {
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

    /// The leaf sent so many bytes in its turn.
    pub fn sent(&mut self, ring: Ring, leaf: usize, len: u32) {
        self.rings.get_mut(&ring).expect("it was given its turn").credit[leaf] -= i64::from(len);
    }
}
