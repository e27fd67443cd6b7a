//! Round trips: smoothed as RFC 6298 has it, and the least of the last ones.

/// Round trips of one part of a path, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// Number of samples.
    pub count: u64,
    /// Sum of samples.
    pub sum: i128,
    /// The least; `i64::MAX` without one.
    pub min: i64,
    /// The greatest.
    pub max: i64,
    /// Smoothed (RFC 6298 section 2).
    pub smoothed: i64,
    /// Mean deviation of samples.
    pub deviation: i64,
    /// The newest.
    pub last: i64,
    /// The longest that eight in a row reached: a queue, and no acknowledgment that was delayed.
    pub sustained: i64,
    recent: [i64; 8],
}

impl Default for Rtt {
    fn default() -> Self {
        Rtt { count: 0, sum: 0, min: i64::MAX, max: 0, smoothed: 0, deviation: 0, last: 0, sustained: 0, recent: [i64::MAX; 8] }
    }
}

impl Rtt {
    pub(crate) fn add(&mut self, sample: i64) {
        if self.count == 0 {
            (self.smoothed, self.deviation) = (sample, sample / 2);
        } else {
            self.deviation += ((sample - self.smoothed).abs() - self.deviation) / 4;
            self.smoothed += (sample - self.smoothed) / 8;
        }
        self.recent[(self.count % 8) as usize] = sample;
        self.count += 1;
        self.sum += i128::from(sample);
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        self.last = sample;
        if self.count >= self.recent.len() as u64 {
            self.sustained = self.sustained.max(self.recent_min());
        }
    }
    /// Shortens all samples, which were too long by `by`.
    pub(crate) fn shorten(&mut self, by: i64) {
        if self.count == 0 {
            return;
        }
        self.sum -= i128::from(by) * i128::from(self.count);
        for one in
            [&mut self.min, &mut self.max, &mut self.smoothed, &mut self.last, &mut self.sustained].into_iter().chain(&mut self.recent)
        {
            *one = if *one == i64::MAX { *one } else { one.saturating_sub(by) };
        }
    }
    pub(crate) fn is_known(&self) -> bool {
        self.count > 0
    }
    /// The least of the last eight; 0 without one.
    pub(crate) fn recent_min(&self) -> i64 {
        if self.count == 0 { 0 } else { self.recent.into_iter().min().unwrap_or(0) }
    }
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}
