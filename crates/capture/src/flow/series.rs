//! A flow over time in a bounded number of bins: when there are too many, two become one.

const MOST: usize = 1024;
const FIRST_WIDTH: i64 = 1_000_000;

/// Counts of one bin of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bin {
    /// Most payload in flight, as the sender saw it; 0 where nothing new was sent.
    pub flight_max: u64,
    /// Least room that the receiver offered beyond the acknowledged data, where anything was sent.
    pub window_min: Option<u64>,
    /// Payload sent, retransmissions included.
    pub sent: u64,
    /// Payload acknowledged.
    pub acked: u64,
    /// Number of round trips.
    pub rtts: u32,
    /// Sum of the round trips, in ns.
    pub rtt_sum: i64,
    /// Least round trip, in ns.
    pub rtt_min: i64,
    /// Greatest round trip, in ns.
    pub rtt_max: i64,
    /// Segments retransmitted.
    pub again: u32,
    /// Segments or ACKs that show a mark.
    pub marks: u32,
}

impl Bin {
    fn merge(&mut self, other: &Bin) {
        self.flight_max = self.flight_max.max(other.flight_max);
        self.window_min = match (self.window_min, other.window_min) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.rtt_min = match (self.rtts, other.rtts) {
            (0, _) => other.rtt_min,
            (_, 0) => self.rtt_min,
            _ => self.rtt_min.min(other.rtt_min),
        };
        self.rtt_max = self.rtt_max.max(other.rtt_max);
        self.sent += other.sent;
        self.acked += other.acked;
        self.rtts += other.rtts;
        self.rtt_sum += other.rtt_sum;
        self.again += other.again;
        self.marks += other.marks;
    }
}

/// Bins of one width, from the first packet on.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    start: Option<i64>,
    /// Width of a bin, in ns.
    pub width: i64,
    /// Bins in order of time.
    pub bins: Vec<Bin>,
}

impl Default for Series {
    fn default() -> Self {
        Series { start: None, width: FIRST_WIDTH, bins: Vec::new() }
    }
}

impl Series {
    /// Returns the bin that `time` falls into; the first, for times before all bins.
    pub(crate) fn at(&mut self, time: i64) -> &mut Bin {
        let start = *self.start.get_or_insert(time);
        let since = time.saturating_sub(start).max(0);
        while since / self.width >= MOST as i64 {
            self.width *= 2;
            for i in 0..self.bins.len().div_ceil(2) {
                let mut one = self.bins[2 * i];
                if let Some(other) = self.bins.get(2 * i + 1) {
                    one.merge(other);
                }
                self.bins[i] = one;
            }
            self.bins.truncate(self.bins.len().div_ceil(2));
        }
        let place = (since / self.width) as usize;
        if self.bins.len() <= place {
            self.bins.resize(place + 1, Bin::default());
        }
        &mut self.bins[place]
    }
}

impl Series {
    /// Shortens all round trips, which were too long by `by`.
    pub(crate) fn shorten(&mut self, by: i64) {
        for bin in self.bins.iter_mut().filter(|bin| bin.rtts > 0) {
            bin.rtt_sum -= by * i64::from(bin.rtts);
            bin.rtt_min -= by;
            bin.rtt_max -= by;
        }
    }

    /// The bins that begin from `from` on and before `until`, with when they do.
    pub(crate) fn between(&self, from: i64, until: i64) -> impl Iterator<Item = (i64, &Bin)> {
        let start = self.start.unwrap_or(0);
        let begins = move |place: usize| start.saturating_add(self.width.saturating_mul(place as i64));
        self.bins.iter().enumerate().map(move |(place, bin)| (begins(place), bin)).filter(move |(time, _)| *time >= from && *time < until)
    }
}

impl Bin {
    /// Adds a round trip, in ns.
    pub(crate) fn rtt(&mut self, rtt: i64) {
        self.rtt_min = if self.rtts == 0 { rtt } else { self.rtt_min.min(rtt) };
        self.rtt_max = self.rtt_max.max(rtt);
        self.rtt_sum = self.rtt_sum.saturating_add(rtt);
        self.rtts += 1;
    }
}
