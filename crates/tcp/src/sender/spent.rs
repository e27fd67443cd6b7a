//! What a sender spent its time waiting for.

use crate::LimitedBy;
use longfat_core::time::{Duration, Time};

/// How long each limit held the sender back.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// What holds it now; `None`: nothing more was written. And since when.
    limit: Option<LimitedBy>,
    since: Time,
    before: [Duration; LimitedBy::ALL.len()],
}

impl Spent {
    /// From `now` on it is `limit`.
    #[inline]
    pub fn limited_by(&mut self, limit: Option<LimitedBy>, now: Time) {
        if limit != self.limit {
            self.before = self.until(now);
            (self.limit, self.since) = (limit, now);
        }
    }

    /// How long each did until `until`, in the order of [`LimitedBy::ALL`].
    pub fn until(&self, until: Time) -> [Duration; LimitedBy::ALL.len()] {
        let mut spent = self.before;
        if let Some(limit) = self.limit
            && until > self.since
        {
            spent[limit as usize] += until.since(self.since);
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_the_time_until_the_next() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut spent = Spent::default();
        let history = [
            (10, Some(LimitedBy::Cwnd)),
            (15, Some(LimitedBy::Cwnd)),
            (30, None),
            (50, Some(LimitedBy::Rwnd)),
            (51, Some(LimitedBy::Cwnd)),
        ];
        history.into_iter().for_each(|(ms, limit)| spent.limited_by(limit, at(ms)));
        let ms = |spent: [Duration; 5]| spent.map(|time| time.as_ps() / 1_000_000_000);
        assert_eq!(ms(spent.until(at(60))), [29, 1, 0, 0, 0]);
        // What is asked of the past ends no sooner than the last change.
        assert_eq!(ms(spent.until(at(40))), [20, 1, 0, 0, 0]);
    }
}
