//! Outages: times at which a line carries nothing.

use super::{Current, Piece, Pieces, words};
use crate::time::{Duration, Time};

/// A time in which the line carries nothing, once or again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Time at which it begins.
    pub from: Duration,
    /// Time at which it is over.
    pub to: Duration,
    /// Time from one beginning to the next. `None`: there is one outage.
    pub every: Option<Duration>,
}

impl Outage {
    /// Returns the outage that `time` is in, or else the next: from when, and up to when.
    fn next(&self, time: Time) -> Option<(Time, Time)> {
        let after = |span: u64| Time::ZERO.saturating_add(Duration::from_ps(span));
        let (from, to) = (self.from.as_ps(), self.to.as_ps());
        // Outages that have ended by `time`.
        let ended = if time.as_ps() < to { 0 } else { self.every.map_or(1, |every| (time.as_ps() - to) / every.as_ps() + 1) };
        let later = match self.every {
            None if ended > 0 => return None,
            None => 0,
            Some(every) => every.as_ps().saturating_mul(ended),
        };
        Some((after(from.saturating_add(later)), after(to.saturating_add(later))))
    }
}

/// The outages of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outages(pub Vec<Outage>);

impl Outages {
    /// Returns outages from each first time up to its second, once.
    pub fn once(spans: impl IntoIterator<Item = (Duration, Duration)>) -> Self {
        Outages(spans.into_iter().map(|(from, to)| Outage { from, to, every: None }).collect())
    }

    /// Checks that each ends after it begins and before it comes again, and that single ones come in order. The error is one sentence for
    /// the user.
    pub fn check(&self) -> Result<(), String> {
        if let Some(Outage { from, to, .. }) = self.0.iter().find(|outage| outage.to <= outage.from) {
            return Err(format!("an outage from {} ends at {}, not after it", words(*from), words(*to)));
        }
        let lasting = self
            .0
            .iter()
            .find_map(|outage| Some((outage.to.saturating_sub(outage.from), outage.every?)).filter(|(length, every)| length >= every));
        if let Some((length, every)) = lasting {
            return Err(format!("an outage of {} every {} never ends", words(length), words(every)));
        }
        let once: Vec<&Outage> = self.0.iter().filter(|outage| outage.every.is_none()).collect();
        match once.windows(2).find(|pair| pair[1].from < pair[0].to) {
            Some(pair) => {
                Err(format!("the outage from {} begins before the one from {} has ended", words(pair[1].from), words(pair[0].from)))
            }
            None => Ok(()),
        }
    }

    /// Returns the outage that `time` is in, or else the next: from when, and up to when, or up to the first end of those that overlap.
    pub(in super::super) fn next(&self, time: Time) -> Option<(Time, Time)> {
        self.0.iter().filter_map(|outage| outage.next(time)).min()
    }
}

/// Pieces of a rate, which is zero during outages.
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
