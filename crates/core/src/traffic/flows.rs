//! `flows`: connections of random sizes that start independently of those before them.

use super::{Application, Demand, Over, Rank, SHAPE, Socket, TrafficKind, Volume, Wait};
use crate::params::{Kept, Keys, Kind, ParamSpec, Params, Refusal, Value};
use crate::rng::Rng;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "flows",
    summary: "each connection writes a volume of its own, drawn from a distribution of sizes, and closes; with `load` they come as a Poisson process",
    source: "Alizadeh and others, pFabric: Minimal Near-Optimal Datacenter Transport, SIGCOMM 2013, section 5.1",
    params: &[
        ParamSpec {
            name: "sizes",
            kind: Kind::ChoiceOrCsv(&["web-search", "data-mining", "pareto", "exponential", "listed"]),
            default: None,
            doc: "how the payload of a connection is distributed: as published, or by `size` and `shape`, or as `points` list it, or as a file with the columns `size_bytes` and `share` does",
        },
        ParamSpec {
            name: "size",
            kind: Kind::Bytes { min: 1, max: 1 << 40 },
            default: Some(Value::Auto),
            doc: "the mean, of `pareto` and `exponential`",
        },
        ParamSpec {
            name: "shape",
            kind: SHAPE,
            default: Some(Value::Number(1.2)),
            doc: "shape of `pareto`; the variance is infinite below 2",
        },
        ParamSpec {
            name: "points",
            kind: Kind::Tables(Keys(&POINTS)),
            default: Some(Value::Auto),
            doc: "of `listed`: sizes in rising order, each with the share of connections that have no more",
        },
        ParamSpec {
            name: "interpolation",
            kind: Kind::Choice(&["linear", "step"]),
            default: Some(Value::Auto),
            doc: "between sizes of `points` or of a file: `linear`, or `step`, where no other sizes come; by default `linear`",
        },
        ParamSpec {
            name: "load",
            kind: Kind::Number { min: 0.001, max: 10.0 },
            default: Some(Value::Auto),
            doc: "payload that comes on average, as a share of the rate of the slowest link of the route; gaps are exponential. In place of `stagger`; they come until `stop`, unless `count` says how many",
        },
    ],
    check,
    canonical: |mut choice| {
        choice.params = without_steps(choice.params);
        choice
    },
    rank: Rank::Volume,
    volume: Volume::Drawn(|params, rng| Sizes::of(params).draw(rng)),
    demand: |params, _| Demand { bytes: Sizes::of(params).mean(), piece: u32::MAX },
    over: Over::Tcp(|_, life| Box::new(Once(life.volume.expect("a volume was drawn")))),
};

static POINTS: [ParamSpec; 2] = [
    ParamSpec { name: "size", kind: Kind::Bytes { min: 0, max: 1 << 50 }, default: None, doc: "payload of a connection" },
    ParamSpec {
        name: "share",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: None,
        doc: "share of connections that have no more; 1 for the last point",
    },
];

/// Sizes in bytes, each with the share of flows that are no larger.
type Points = &'static [(f64, f64)];

/// Sizes of the web-search cluster of figure 4 in Alizadeh and others, *Data Center TCP (DCTCP)*, SIGCOMM 2010, as they are published for
/// generators of traffic (Bai and others, *Information-Agnostic Flow Scheduling for Commodity Data Centers*, NSDI 2015). Mean 1.7 MB.
const WEB_SEARCH: Points = &[
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Sizes of the data-mining cluster of figure 2 in Greenberg and others, *VL2: A Scalable and Flexible Data Center Network*, SIGCOMM 2009,
/// from the same publication. Mean 12.7 MB, of which nearly all is in the largest 2 %.
const DATA_MINING: Points = &[
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

fn check(params: &Params) -> Result<(), Refusal> {
    let sizes = params.choice("sizes");
    let refuse = |param, sentence: String, expected: &str| Err(Refusal { param, sentence, expected: expected.to_owned() });
    let drawn = ["pareto", "exponential"].contains(&sizes);
    if drawn == params.is_auto("size") {
        let (sentence, expected) = if drawn { ("needs a mean", "the mean, such as size = \"100 kB\"") } else { ("has its own", "no size") };
        return refuse("size", format!("`{sizes}` {sentence}"), expected);
    }
    let points = params.tables("points");
    if (sizes == "listed") == points.is_empty() {
        let expected = if points.is_empty() { "points = [{ size = \"10 kB\", share = 0.5 }, ...]" } else { "sizes = \"listed\" beside it" };
        return refuse("points", format!("`{sizes}` {} a list", if points.is_empty() { "needs" } else { "has no use for" }), expected);
    }
    if sizes != "listed" && !params.is_auto("interpolation") {
        return refuse("interpolation", format!("`{sizes}` has its own"), "no interpolation");
    }
    let listed = listed(points);
    if let Some(two) = listed.windows(2).find(|two| two[1].0 < two[0].0 || two[1].1 < two[0].1) {
        return refuse(
            "points",
            format!("{} bytes with a share of {} come after {} with {}", two[1].0, two[1].1, two[0].0, two[0].1),
            "sizes and shares that rise",
        );
    }
    match listed.last() {
        Some((_, share)) if *share != 1.0 => refuse("points", format!("the last share is {share}"), "a last share of 1"),
        Some((size, _)) if *size < 1.0 => refuse("points", "no connection has anything to send".to_owned(), "a last size above 0"),
        _ => Ok(()),
    }
}

/// Returns the parameters with linear interpolation alone: a step is two points of one size.
fn without_steps(mut params: Params) -> Params {
    if !params.is_auto("interpolation") && params.choice("interpolation") == "step" {
        let points = params.tables("points");
        let corners = points.windows(2).flat_map(|two| {
            let corner = Params(vec![("size", two[1].get("size")), ("share", two[0].get("share"))]);
            [corner, two[1].clone()]
        });
        let steps: Vec<Params> = points.iter().take(1).cloned().chain(corners).collect();
        params.set("points", Value::Tables(Kept::from(steps)));
    }
    params.set("interpolation", Value::Auto);
    params
}

fn listed(points: &[Params]) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.integer("size") as f64, point.number("share"))).collect()
}

/// A distribution of sizes.
enum Sizes {
    Pareto {
        shape: f64,
        mean: f64,
    },
    Exponential {
        mean: f64,
    },
    /// Sizes with linear interpolation between the points.
    Points(std::borrow::Cow<'static, [(f64, f64)]>),
}

impl Sizes {
    fn of(params: &Params) -> Self {
        match params.choice("sizes") {
            "web-search" => Sizes::Points(WEB_SEARCH.into()),
            "data-mining" => Sizes::Points(DATA_MINING.into()),
            "pareto" => Sizes::Pareto { shape: params.number("shape"), mean: params.integer("size") as f64 },
            "exponential" => Sizes::Exponential { mean: params.integer("size") as f64 },
            _ => Sizes::Points(listed(params.tables("points")).into()),
        }
    }

    /// Draws the payload bytes of one connection: at least one, at most 1 PiB.
    fn draw(&self, rng: &mut Rng) -> u64 {
        let size = match self {
            Sizes::Pareto { shape, mean } => rng.pareto(*shape, *mean),
            Sizes::Exponential { mean } => rng.exponential(*mean),
            Sizes::Points(points) => at(points, rng.uniform()),
        };
        // A cast of a float to an integer saturates.
        ((size + 0.5) as u64).clamp(1, 1 << 50)
    }

    /// Returns the mean, in bytes.
    fn mean(&self) -> f64 {
        match self {
            Sizes::Pareto { mean, .. } | Sizes::Exponential { mean } => *mean,
            Sizes::Points(points) => {
                let first = points[0].0 * points[0].1;
                first + points.windows(2).map(|two| (two[1].1 - two[0].1) * f64::midpoint(two[0].0, two[1].0)).sum::<f64>()
            }
        }
    }
}

/// Returns the size that a share `u` of the flows do not exceed. Below the first point all are of its size.
fn at(points: &[(f64, f64)], u: f64) -> f64 {
    let next = points.partition_point(|(_, share)| *share <= u).min(points.len() - 1);
    let Some(before) = next.checked_sub(1) else { return points[0].0 };
    let ((low, below), (high, share)) = (points[before], points[next]);
    if share > below { low + (high - low) * (u - below) / (share - below) } else { high }
}

/// Returns the mean size of connections with these parameters, in bytes of payload.
pub fn mean_size(params: &Params) -> f64 {
    Sizes::of(params).mean()
}

/// Writes all at once, and closes.
#[derive(Debug)]
struct Once(u64);

impl Application for Once {
    fn act(&mut self, _now: crate::time::Time, socket: &mut dyn Socket) -> Wait {
        socket.write(self.0);
        socket.close();
        Wait::FOR_EVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(params: &[(&'static str, Value)]) -> (f64, Vec<f64>) {
        let choice = crate::traffic::choice("flows").with(params);
        check(&choice.params).unwrap();
        let (sizes, mut rng) = (Sizes::of(&choice.params), Rng::named(1, "flows"));
        (sizes.mean(), (0..400_000).map(|_| sizes.draw(&mut rng) as f64).collect())
    }

    fn share_up_to(sizes: &[f64], most: f64) -> f64 {
        sizes.iter().filter(|size| **size <= most).count() as f64 / sizes.len() as f64
    }

    #[test]
    fn published_sizes_have_their_means_and_shares() {
        for (name, points, mean) in [("web-search", WEB_SEARCH, 1.711e6), ("data-mining", DATA_MINING, 12.658e6)] {
            let (is, sizes) = drawn(&[("sizes", Value::Choice(name))]);
            assert!((is / mean - 1.0).abs() < 0.001, "{name}: {is}");
            // Four standard errors of the mean: the deviation of data mining is seven times its mean.
            let found = sizes.iter().sum::<f64>() / sizes.len() as f64;
            assert!((found / is - 1.0).abs() < if name == "web-search" { 0.012 } else { 0.05 }, "{name}: {found}");
            for (size, share) in points {
                assert!((share_up_to(&sizes, *size) - share).abs() < 0.0035, "{name}: {size}");
            }
        }
    }

    #[test]
    fn sizes_of_two_parameters_have_their_means_and_tails() {
        let size = ("size", Value::Bytes(100_000));
        let (mean, sizes) = drawn(&[("sizes", Value::Choice("exponential")), size]);
        assert!(mean == 1e5 && (1.0 - share_up_to(&sizes, 2e5) - 0.1353).abs() < 0.002);
        // The least size is 60,000 bytes: P(X > 600,000) = 10^-2.5.
        let (_, sizes) = drawn(&[("sizes", Value::Choice("pareto")), size, ("shape", Value::Number(2.5))]);
        assert!((1.0 - share_up_to(&sizes, 6e5) - 0.003_162).abs() < 0.0004 && sizes.iter().all(|size| *size >= 59_999.0));
    }

    #[test]
    fn a_list_is_linear_between_its_points_and_may_jump() {
        let point = |size, share| Params(vec![("size", Value::Bytes(size)), ("share", Value::Number(share))]);
        let points = Kept::from(vec![point(1000, 0.25), point(3000, 0.75), point(9000, 0.75), point(9000, 1.0)]);
        let (mean, sizes) = drawn(&[("sizes", Value::Choice("listed")), ("points", Value::Tables(points))]);
        // A quarter is 1000, a half lies even between 1000 and 3000, a quarter is 9000.
        assert!((mean - (250.0 + 1000.0 + 2250.0)).abs() < 1e-9);
        for (size, share) in [(999.0, 0.0), (1000.0, 0.25), (2000.0, 0.5), (3000.0, 0.75), (8999.0, 0.75), (9000.0, 1.0)] {
            assert!((share_up_to(&sizes, size) - share).abs() < 0.003, "{size}");
        }
    }

    #[test]
    fn steps_have_the_listed_sizes_and_no_others() {
        let point = |size, share| Params(vec![("size", Value::Bytes(size)), ("share", Value::Number(share))]);
        let points = Value::Tables(Kept::from(vec![point(1000, 0.25), point(3000, 0.75), point(9000, 1.0)]));
        let listed = [("sizes", Value::Choice("listed")), ("points", points)];
        let of = |word| crate::traffic::Traffic::of("flows", &[&listed[..], &[("interpolation", Value::Choice(word))]].concat());
        let steps = of("step");
        let (sizes, mut rng) = (Sizes::of(steps.params()), Rng::named(1, "flows"));
        assert!((sizes.mean() - (250.0 + 1500.0 + 2250.0)).abs() < 1e-9);
        let drawn: Vec<f64> = (0..400_000).map(|_| sizes.draw(&mut rng) as f64).collect();
        assert!(drawn.iter().all(|size| [1000.0, 3000.0, 9000.0].contains(size)));
        for (size, share) in [(1000.0, 0.25), (3000.0, 0.75), (8999.0, 0.75)] {
            assert!((share_up_to(&drawn, size) - share).abs() < 0.003, "{size}");
        }
        // The default, and a list that is one already.
        assert_eq!(of("linear"), crate::traffic::Traffic::of("flows", &listed));
        assert_ne!(of("linear"), steps);
    }

    #[test]
    fn what_cannot_be_a_distribution_is_refused() {
        let point = |size, share| Params(vec![("size", Value::Bytes(size)), ("share", Value::Number(share))]);
        let list = |points: Vec<Params>| ("points", Value::Tables(Kept::from(points)));
        let (listed, search, pareto) =
            (("sizes", Value::Choice("listed")), ("sizes", Value::Choice("web-search")), ("sizes", Value::Choice("pareto")));
        let refused = |params: &[(&'static str, Value)]| check(&crate::traffic::choice("flows").with(params).params).unwrap_err().sentence;
        for (params, why) in [
            (vec![pareto], "`pareto` needs a mean"),
            (vec![search, ("size", Value::Bytes(9))], "`web-search` has its own"),
            (vec![listed], "`listed` needs a list"),
            (vec![search, list(vec![point(1, 1.0)])], "`web-search` has no use for a list"),
            (vec![search, ("interpolation", Value::Choice("step"))], "`web-search` has its own"),
            (vec![listed, list(vec![point(10, 0.5), point(5, 1.0)])], "5 bytes with a share of 1 come after 10 with 0.5"),
            (vec![listed, list(vec![point(10, 0.5)])], "the last share is 0.5"),
            (vec![listed, list(vec![point(0, 1.0)])], "no connection has anything to send"),
        ] {
            assert_eq!(refused(&params), why);
        }
    }
}
