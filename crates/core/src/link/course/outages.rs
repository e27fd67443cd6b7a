//! Outages: times at which a line carries nothing.

use super::{Current, Piece, Pieces, words};
use crate::time::{Duration, Time};

/// From each first time up to its second, nothing is carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outages(pub Vec<(Duration, Duration)>);

impl Outages {
    /// One sentence for the user unless each ends after it begins, and before the next begins.
    pub fn check(&self) -> Result<(), String> {
        if let Some((from, to)) = self.0.iter().find(|(from, to)| to <= from) {
            return Err(format!("an outage from {} ends at {}, not after it", words(*from), words(*to)));
        }
        match self.0.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            Some(pair) => Err(format!("the outage from {} begins before the one from {} has ended", words(pair[1].0), words(pair[0].0))),
            None => Ok(()),
        }
    }

    /// The outage that `time` is in, or else the next: from when, and up to when.
    pub(in super::super) fn next(&self, time: Time) -> Option<(Time, Time)> {
        let after = |span: Duration| Time::ZERO.saturating_add(span);
        self.0.iter().map(|(from, to)| (after(*from), after(*to))).find(|(_, to)| *to > time)
    }
}

/// The pieces of a rate, which is zero during outages.
pub(in super::super) struct Interrupted {
    pub rate: Current,
    pub outages: Outages,
    pub at: Time,
}

impl Pieces for Interrupted {
    fn next(&mut self) -> Piece {
        let piece = match self.outages.next(self.at) {
            Some((from, until)) if from <= self.at => Piece { until, value: 0 },
            Some((from, _)) => {
                let rate = self.rate.at(self.at);
                Piece { until: rate.until.min(from), ..rate }
            }
            None => self.rate.at(self.at),
        };
        self.at = piece.until;
        piece
    }
}
