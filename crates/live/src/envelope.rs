//! Queueing delays of probes between two clocks that nobody synchronises.
//!
//! A probe takes its base delay, its waits in queues, and the difference of the clocks. Waits are never negative: the lower hull of all probes
//! follows the difference of the clocks, and what lies above it has waited (Moon, Skelly and Towsley 1999). Both directions
//! see the same difference with opposite signs, so it lies in a corridor between both hulls. Where no straight corridor is left, a clock was
//! set, or changed its rate (Zhang, Liu and Xia 2002): the estimate begins anew.

/// One probe that arrived. Each time is of its own host's monotonic clock, from any zero: nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Time at which it was sent, on the sender's clock.
    pub sent: u64,
    /// Time at which it came, on the receiver's clock.
    pub came: u64,
}

/// Clocks of two hosts, and what probes between them waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// Wait of each probe to the other host, in the order given: nanoseconds. NaN of one that was under way at a step.
    pub up: Vec<f64>,
    /// Wait of each probe from the other host.
    pub down: Vec<f64>,
    /// Rate of the other host's clock over ours, less 1, while it was longest without a step.
    pub skew: f64,
    /// Times at which the difference of the clocks began anew, on our clock: nanoseconds.
    pub steps: Vec<u64>,
    /// Least delays of both directions together: nanoseconds.
    pub base_rtt: f64,
}

/// Greatest skew that is believed: the kernel slews a clock by 500 parts in a million at most (adjtimex(2)), and two crystals of 100 each may
/// be apart by 200.
const SKEW: f64 = 1e-3;
/// Narrowing of the corridor that is a step, in nanoseconds. The waits are meant to be within 0.1 ms: a smaller step does no harm.
const STEP: f64 = 100_000.0;
/// Time for which probes after a narrowing are looked at, and which a stretch of an own skew lasts at least: nanoseconds.
const WHILE: f64 = 1e9;

/// A point of the corridor: time on our clock, and the other host's clock less ours.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    /// True of a probe to the other host, which lies above the corridor; others lie below.
    is_up: bool,
    /// Place among the probes of its direction.
    number: usize,
}

/// A hull of points that come in the order of time: the lower one of points above the corridor, the upper one (with the sign of `y` changed) of
/// those below it.
#[derive(Clone, Debug, Default)]
struct Hull(Vec<(f64, f64)>);

impl Hull {
    /// Takes in the next point (the monotone chain of Andrew 1979).
    fn push(&mut self, x: f64, y: f64) {
        let hull = &mut self.0;
        if let Some(last) = hull.last()
            && last.0 >= x
        {
            if last.1 <= y {
                return;
            }
            hull.pop();
        }
        while let [.., a, b] = hull[..]
            && (b.1 - a.1) * (x - a.0) >= (y - a.1) * (b.0 - a.0)
        {
            hull.pop();
        }
        hull.push((x, y));
    }

    /// Height at which a line of this slope touches it from below, at time zero.
    fn touched(&self, slope: f64) -> f64 {
        let at = self.slopes().take_while(|edge| *edge < slope).count();
        self.0.get(at).map_or(f64::INFINITY, |(x, y)| y - slope * x)
    }

    /// Slopes of its edges, each greater than the one before.
    fn slopes(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.0.windows(2).map(|edge| (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0))
    }

    /// Slope of the edge over `x`: of all lines below the points, the one that is least below them if `x` is their mean (the optimum of the linear
    /// program of Moon, Skelly and Towsley 1999). `None`: a single point.
    fn slope_at(&self, x: f64) -> Option<f64> {
        let edges = self.0[1.min(self.0.len())..].iter().zip(self.slopes());
        edges.clone().find(|(end, _)| end.0 >= x).or(edges.last()).map(|(_, slope)| slope)
    }
}

/// A stretch of time in which one straight corridor is between the probes.
#[derive(Clone, Debug, Default)]
struct Stretch {
    points: Vec<Point>,
    above: Hull,
    below: Hull,
}

impl Stretch {
    fn push(&mut self, point: Point) {
        let Point { x, y, is_up, .. } = point;
        if is_up {
            self.above.push(x, y);
        } else {
            self.below.push(x, -y);
        }
        self.points.push(point);
    }

    /// Width of the widest straight corridor: the base RTT, as far as these points know. Infinite while one direction has none.
    fn width(&self) -> f64 {
        // Concave in the slope, with its corners at those of the edges: halves of them find the greatest.
        let width = |slope: f64| self.above.touched(slope) + self.below.touched(-slope);
        let edges = self.above.slopes().chain(self.below.slopes().map(|slope| -slope)).filter(|slope| slope.abs() < SKEW);
        let mut corners: Vec<f64> = [-SKEW, SKEW].into_iter().chain(edges).collect();
        corners.sort_by(f64::total_cmp);
        let (mut from, mut to) = (0, corners.len() - 1);
        while to - from > 1 {
            let middle = from.midpoint(to);
            if width(corners[middle]) < width(corners[middle + 1]) { from = middle + 1 } else { to = middle }
        }
        width(corners[from]).max(width(corners[to]))
    }

    /// Skew by the direction whose probes lie closer to their hull.
    fn skew(&self) -> Option<f64> {
        let of = |is_up: bool| {
            let (hull, sign) = if is_up { (&self.above, 1.0) } else { (&self.below, -1.0) };
            let points = || self.points.iter().filter(|point| point.is_up == is_up);
            let count = points().count() as f64;
            let slope = hull.slope_at(points().map(|point| point.x).sum::<f64>() / count)?;
            let floor = hull.touched(slope);
            let above = points().map(|point| sign * point.y - slope * point.x - floor).sum::<f64>() / count;
            Some((above, (sign * slope).clamp(-SKEW, SKEW)))
        };
        let found = [of(true), of(false)].into_iter().flatten();
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, skew)| skew)
    }

    fn lasts(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.x) - self.points.first().map_or(0.0, |first| first.x)
    }
}

/// Returns the waits of probes in both directions. `None`: a direction has none.
pub fn waits(up: &[Crossing], down: &[Crossing]) -> Option<Waits> {
    let first = |list: &[Crossing]| list.iter().copied().min_by_key(|crossing| crossing.sent);
    // Differences from these are small enough for the 53 bits of a number.
    let (ours, theirs) = (first(up)?.sent, first(down)?.sent);
    let since = |time: u64, zero: u64| if time >= zero { (time - zero) as f64 } else { -((zero - time) as f64) };
    let above = up.iter().enumerate().map(|(number, probe)| {
        let x = since(probe.sent, ours);
        Point { x, y: since(probe.came, theirs) - x, is_up: true, number }
    });
    let below = down.iter().enumerate().map(|(number, probe)| {
        let x = since(probe.came, ours);
        Point { x, y: since(probe.sent, theirs) - x, is_up: false, number }
    });
    let mut points: Vec<Point> = above.chain(below).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));

    let stretches = stretches(&points);
    let longest = stretches.iter().max_by(|a, b| a.lasts().total_cmp(&b.lasts()))?;
    let skew = longest.skew().unwrap_or(0.0);
    let mut waits =
        Waits { up: vec![f64::NAN; up.len()], down: vec![f64::NAN; down.len()], skew, steps: Vec::new(), base_rtt: f64::INFINITY };
    for (number, stretch) in stretches.iter().enumerate() {
        let slope = if stretch.lasts() < WHILE { skew } else { stretch.skew().unwrap_or(skew) };
        let (floor, roof) = (stretch.above.touched(slope), stretch.below.touched(-slope));
        waits.base_rtt = waits.base_rtt.min(floor + roof);
        for point in &stretch.points {
            let over = point.y - slope * point.x;
            let (to, wait) = if point.is_up { (&mut waits.up, over - floor) } else { (&mut waits.down, -over - roof) };
            // A vertex of the hull may be off by the last bit.
            to[point.number] = wait.max(0.0);
        }
        if number > 0 {
            waits.steps.push(ours.saturating_add_signed(stretch.points[0].x as i64));
        }
    }
    Some(waits)
}

/// Cuts points, which are in order of time, where no straight corridor goes on. Those that were under way then are in no stretch.
fn stretches(points: &[Point]) -> Vec<Stretch> {
    let mut all = vec![Stretch::default()];
    let (mut width, mut from) = (f64::INFINITY, f64::NEG_INFINITY);
    for (place, point) in points.iter().enumerate() {
        if point.x < from {
            continue;
        }
        let stretch = all.last_mut().expect("there is one");
        let hulls = (stretch.above.clone(), stretch.below.clone());
        stretch.push(*point);
        let narrower = stretch.width();
        // A round trip, and as much in queues.
        let under_way = 2.0 * width;
        let is_narrow = width.is_finite() && narrower < width - STEP;
        if is_narrow && is_step(points[place..].iter().skip_while(|next| next.x < point.x + under_way), narrower) {
            (stretch.above, stretch.below) = hulls;
            stretch.points.retain(|before| before.x <= point.x - under_way);
            (width, from) = (f64::INFINITY, point.x + under_way);
            all.push(Stretch::default());
        } else {
            width = narrower;
        }
    }
    all.retain(|stretch| !stretch.points.is_empty());
    all
}

/// True if the probes that come next know of no corridor as narrow as `width`: then it is not a queue that has become empty.
fn is_step<'a>(points: impl Iterator<Item = &'a Point>, width: f64) -> bool {
    let mut next = Stretch::default();
    for point in points {
        if next.points.first().is_some_and(|first| point.x > first.x + WHILE) {
            break;
        }
        next.push(*point);
    }
    next.width() > width + STEP
}

#[cfg(test)]
mod tests;
