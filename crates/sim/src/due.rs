//! When each of a row of things next has something to do.
//!
//! A tree of minima over an array: each inner node holds the lesser of its two children, so the root is the least of all. The leaves stand
//! in the order of the row, so of those that are due the one furthest to the left is found first: that is the tie rule.

use longfat_core::time::Time;

/// One time for each place of a row; [`Time::MAX`] is never.
#[derive(Debug)]
pub struct Due {
    /// `tree[1]` is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves are `tree[leaves..]`.
    tree: Vec<Time>,
    /// A power of two.
    leaves: usize,
}

impl Due {
    /// A row of so many places, none of which is due.
    pub fn new(places: usize) -> Self {
        let leaves = places.max(1).next_power_of_two();
        Due { tree: vec![Time::MAX; 2 * leaves], leaves }
    }

    /// The least time of all.
    #[inline]
    pub fn first(&self) -> Time {
        self.tree[1]
    }

    /// The time of `place`.
    #[inline]
    pub fn at(&self, place: usize) -> Time {
        self.tree[self.leaves + place]
    }

    /// The time of `place` is `time` from here on.
    #[inline]
    pub fn set(&mut self, place: usize, time: Time) {
        let mut node = self.leaves + place;
        self.tree[node] = time;
        while node > 1 {
            let least = self.tree[node].min(self.tree[node ^ 1]);
            node >>= 1;
            if self.tree[node] == least {
                return;
            }
            self.tree[node] = least;
        }
    }

    /// The time of `place` is `time`, if that is earlier than what it was.
    #[inline]
    pub fn lower(&mut self, place: usize, time: Time) {
        let mut node = self.leaves + place;
        while node > 0 && time < self.tree[node] {
            self.tree[node] = time;
            node >>= 1;
        }
    }

    /// The first place from `place` on whose time has come by `until`.
    #[inline]
    pub fn next(&self, place: usize, until: Time) -> Option<usize> {
        if place >= self.leaves || self.first() > until {
            return None;
        }
        let mut node = if place == 0 { 1 } else { self.leaves + place };
        while self.tree[node] > until {
            // The next subtree to the right, as large as can be.
            node += 1;
            node >>= node.trailing_zeros();
            if node == 1 {
                return None;
            }
        }
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] > until);
        }
        Some(node - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_an_array_of_times(places in 1_usize..40, steps in prop::collection::vec((any::<bool>(), 0_usize..40, 0_u64..20), 1..200)) {
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
                    for from in 0..places + 2 {
                        let expected = (from..places).find(|i| plain[*i] <= until);
                        prop_assert_eq!(due.next(from, until), expected);
                    }
                }
            }
        }
    }
}
