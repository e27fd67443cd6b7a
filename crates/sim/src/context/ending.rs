//! The end of a run that waits for volumes, as a bound on how far stages may go before all go together.

use longfat_core::time::Time;

/// Volumes that the run waits for.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Volumes not yet delivered.
    undelivered: usize,
    /// Volumes of which the sender does not know yet that they are delivered; `None` in a run without volumes, which lasts its whole duration.
    unfinished: Option<usize>,
    /// Flows with a volume of which some may not have been sent even once, and the volume.
    unsent: Vec<(usize, u64)>,
    /// Time at which all stages are to meet.
    hold: Option<Time>,
    /// The last volume was delivered since the last call of [`Ending::take_delivery`].
    has_delivered_all: bool,
}

impl Ending {
    /// Returns the end of a run with `volumes` volumes; the flows in `unsent` may still have unsent data of theirs.
    pub(crate) fn new(volumes: usize, unsent: Vec<(usize, u64)>) -> Self {
        let unfinished = (volumes > 0).then_some(volumes);
        Ending { undelivered: volumes, unfinished, unsent, hold: None, has_delivered_all: false }
    }

    /// True once every volume is delivered and acknowledged.
    pub(crate) fn is_reached(&self) -> bool {
        self.unfinished == Some(0) && self.undelivered == 0
    }

    /// Time beyond which no sweep goes: the run may end at any instant after it. A volume is not delivered before its last byte has been
    /// sent and has crossed the network, so while one has not been sent, all may go on by another period (the plan sees to that). `front`
    /// is how far the stages have come, `sent` says how many bytes a flow has sent once.
    pub(crate) fn hold(&mut self, front: Time, sent: impl Fn(usize) -> u64) -> Time {
        while self.hold.is_none() && self.undelivered > 0 {
            match self.unsent.last() {
                None => self.hold = Some(front),
                Some(&(flow, volume)) if sent(flow) < volume => break,
                Some(_) => _ = self.unsent.pop(),
            }
        }
        self.hold.unwrap_or(Time::MAX)
    }

    /// Counts a volume that is delivered.
    pub(crate) fn delivered(&mut self) {
        self.undelivered -= 1;
        self.has_delivered_all = self.undelivered == 0;
    }

    /// Counts a sender of a volume that knows that all of it is delivered.
    pub(crate) fn acknowledged(&mut self) {
        self.unfinished = self.unfinished.map(|left| left - 1);
    }

    /// True if the last volume was delivered since the last call.
    pub(crate) fn take_delivery(&mut self) -> bool {
        std::mem::take(&mut self.has_delivered_all)
    }
}
