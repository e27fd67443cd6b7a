//! Times at which each place of a row next has something to do.
//!
//! A tree of minima over an array, eight children to a node: each entry of an inner node is the least of the eight below it. Places stand in
//! the order of the row, so of those that are due the one furthest to the left is found first: that is the tie rule. Eight times fill a
//! line of a cache, and a row of up to 64 has two levels: what is looked at most often is little, and near.

use longfat_core::time::Time;

/// One time for each place of a row; [`Time::MAX`] is never.
#[derive(Debug)]
pub(crate) struct Due {
    /// The root, then its children, then theirs: the children of node `i` are from `8 i + 1` on. Places are entries of the last level, of which only
    /// the nodes are there that are needed.
    tree: Vec<Node>,
    /// The first node of the last level.
    leaves: usize,
    places: usize,
    /// The least time of all.
    first: Time,
}

/// Children of a node.
const FAN: usize = 8;

/// Node of the tree: the least time below each child.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node([Time; FAN]);

impl Node {
    #[inline]
    fn least(&self) -> Time {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }

    /// Returns the first child from `child` on whose time is `until` or earlier.
    #[inline]
    fn next(&self, child: usize, until: Time) -> Option<usize> {
        self.0.get(child..)?.iter().position(|time| *time <= until).map(|further| child + further)
    }
}

impl Due {
    /// Returns a row of `places` places, none of which is due.
    pub(crate) fn new(places: usize) -> Self {
        let (mut leaves, mut level) = (0, 1);
        while level * FAN < places {
            leaves += level;
            level *= FAN;
        }
        Due { tree: vec![Node([Time::MAX; FAN]); leaves + places.div_ceil(FAN).max(1)], leaves, places, first: Time::MAX }
    }

    /// The least time of all.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.first
    }

    /// The time of `place`.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Time {
        self.tree[self.leaves + place / FAN].0[place % FAN]
    }

    /// The time of `place` is `time` from here on.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, time: Time) {
        if time <= self.at(place) {
            return self.lower(place, time);
        }
        let (mut node, mut child, mut time) = (self.leaves + place / FAN, place % FAN, time);
        loop {
            let entries = &mut self.tree[node];
            let before = std::mem::replace(&mut entries.0[child], time);
            if before == time {
                return;
            }
            time = entries.least();
            if node == 0 {
                self.first = time;
                return;
            }
            (node, child) = ((node - 1) / FAN, (node - 1) % FAN);
        }
    }

    /// Sets the time of `place` to `time`, if that is earlier.
    #[inline]
    pub(crate) fn lower(&mut self, place: usize, time: Time) {
        let (mut node, mut child) = (self.leaves + place / FAN, place % FAN);
        loop {
            let entry = &mut self.tree[node].0[child];
            if time >= *entry {
                return;
            }
            *entry = time;
            if node == 0 {
                self.first = self.first.min(time);
                return;
            }
            (node, child) = ((node - 1) / FAN, (node - 1) % FAN);
        }
    }

    /// Returns the first place from `place` on whose time is `until` or earlier.
    #[inline]
    pub(crate) fn next(&self, place: usize, until: Time) -> Option<usize> {
        if self.first > until || place >= self.places {
            return None;
        }
        let (mut node, mut from) = (self.leaves + place / FAN, place % FAN);
        // Climb to a node where something to the right is due ...
        let mut child = loop {
            // Beyond the last node that is needed nothing is due.
            if let Some(child) = self.tree.get(node).and_then(|entries| entries.next(from, until)) {
                break child;
            }
            if node == 0 {
                return None;
            }
            (node, from) = ((node - 1) / FAN, (node - 1) % FAN + 1);
        };
        // ... and down again to the first of it.
        while node < self.leaves {
            node = FAN * node + 1 + child;
            child = self.tree[node].next(0, until).expect("the least time of a node is that of a child");
        }
        Some((node - self.leaves) * FAN + child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_an_array_of_times(places in 1_usize..600, steps in prop::collection::vec((any::<bool>(), 0_usize..600, 0_u64..20), 1..200)) {
            let mut due = Due::new(places);
            let mut plain = vec![Time::MAX; places];
            for (lowers, place, time) in steps {
                // 19 stands for "never", so that places also fall silent.
                let (place, time) = (place % places, if time == 19 { Time::MAX } else { Time::from_ps(time) });
                if lowers {
                    due.lower(place, time);
                    plain[place] = plain[place].min(time);
                } else {
                    due.set(place, time);
                    plain[place] = time;
                }
                prop_assert_eq!(due.first(), *plain.iter().min().unwrap());
                prop_assert_eq!(due.at(place), plain[place]);
                for until in [0, 7, 18].map(Time::from_ps) {
                    for from in (0..places + 2).step_by(1 + places / 40) {
                        let expected = (from..places).find(|i| plain[*i] <= until);
                        prop_assert_eq!(due.next(from, until), expected);
                    }
                }
            }
        }
    }
}
