use super::*;
use crate::params::testing::any_params;
use crate::rng::Rng;
use proptest::prelude::*;
use proptest::sample::select;

const MS: u64 = 1_000_000_000;

fn steps(steps: &[(u64, u64)], repeat: Option<u64>) -> Steps {
    let step = |&(at, value): &(u64, u64)| Step { at: Duration::from_millis(at), value };
    Steps { steps: steps.iter().map(step).collect(), repeat: repeat.map(Duration::from_millis) }
}

/// Returns the first pieces: until when in ms, and the value.
fn first(course: &Course, n: usize) -> Vec<(u64, u64)> {
    let mut pieces = course.pieces(Rng::named(1, "a course"));
    let text = |piece: Piece| (if piece.until == Time::MAX { u64::MAX } else { piece.until.as_ps() / MS }, piece.value);
    (0..n).map(|_| text(pieces.next())).collect()
}

#[test]
fn steps_hold_or_begin_anew() {
    let held = Course::Steps(steps(&[(0, 5), (10, 7), (30, 1)], None));
    assert_eq!(first(&held, 3), [(10, 5), (30, 7), (u64::MAX, 1)]);
    assert_eq!((held.least(), held.greatest(), held.mean()), (1, 7, 1));
    let wrapped = Course::Steps(steps(&[(0, 5), (10, 7), (30, 1)], Some(40)));
    assert_eq!(first(&wrapped, 5), [(10, 5), (30, 7), (40, 1), (50, 5), (70, 7)]);
    // (10 x 5 + 20 x 7 + 10 x 1) / 40 = 5.
    assert_eq!(wrapped.mean(), 5);
}

#[test]
fn outages_cut_pieces() {
    let outages = Outages::once([(5, 12), (12, 15), (40, 41)].map(|(from, to)| (Duration::from_millis(from), Duration::from_millis(to))));
    assert_eq!(outages.check(), Ok(()));
    let rate = Current::new(Course::Steps(steps(&[(0, 5), (10, 7), (30, 1)], None)).pieces(Rng::named(1, "")));
    let mut cut = Interrupted { rate, outages, at: Time::ZERO };
    let pieces: Vec<_> = (0..7).map(|_| cut.next()).map(|piece| (piece.until.as_ps() / MS, piece.value)).collect();
    assert_eq!(pieces[..6], [(5, 5), (12, 0), (15, 0), (30, 7), (40, 1), (41, 0)]);
    assert_eq!(pieces[6].1, 1);
}

#[test]
fn what_makes_no_sense_is_one_sentence() {
    let refused = |course: Course| course.check().unwrap_err();
    let span = |from, to| (Duration::from_millis(from), Duration::from_millis(to));
    let drawn = |kind: &str, changes: &[(&'static str, Value)]| Course::Drawn { low: 1, high: 9, by: by(kind).with(changes) };
    let sentences = [
        refused(Course::Steps(steps(&[], None))),
        refused(Course::Steps(steps(&[(1, 5)], None))),
        refused(Course::Steps(steps(&[(0, 5), (20, 7), (10, 1)], None))),
        refused(Course::Steps(steps(&[(0, 5), (20, 7)], Some(20)))),
        refused(Course::Drawn { low: 9, high: 9, by: choice("leo") }),
        refused(drawn("sine", &[("step", Value::Duration(Duration::from_millis(300)))])),
        refused(drawn("random_walk", &[("by", Value::Number(0.0))])),
        refused(drawn("leo", &[("first", Value::Duration(Duration::from_secs(16)))])),
        Outages::once([span(10, 10)]).check().unwrap_err(),
        Outages::once([span(10, 30), span(20, 40)]).check().unwrap_err(),
    ];
    insta::assert_snapshot!(sentences.join("\n"), @r"
    there is no step
    the first step is at 1 ms, and nothing is said of before
    time does not go on: a step at 10 ms comes after one at 20 ms
    they repeat after 20 ms, but the last step is at 20 ms
    low must be under high
    a step of 300 ms is more than a quarter of the period, 1 s
    by must be over 0: with 0 nothing changes
    first must be at most one interval
    an outage from 10 ms ends at 10 ms, not after it
    the outage from 20 ms begins before the one from 10 ms has ended
    ");
}

/// Returns a kind with its required parameters: a second each.
fn by(kind: &str) -> Choice {
    let given: Vec<_> = named(kind).params.iter().filter(|spec| spec.default.is_none()).map(|spec| spec.name).collect();
    let second = Value::Duration(Duration::from_secs(1));
    choice(kind).with(&given.into_iter().map(|name| (name, second)).collect::<Vec<_>>())
}

/// The mean over a long time is that of `mean`, and the values keep to their bounds.
#[test]
fn what_is_drawn_has_the_mean_it_says() {
    for kind in NAMES {
        let course = Course::Drawn { low: 1000, high: 9000, by: by(kind) };
        let mut pieces = course.pieces(Rng::named(3, kind));
        let (mut at, mut area, end) = (0, 0.0, 20_000_000 * MS);
        while at < end {
            let piece = pieces.next();
            assert!((1000..=9000).contains(&piece.value) && piece.until.as_ps() > at, "{kind}");
            area += (piece.until.as_ps() - at) as f64 * piece.value as f64;
            at = piece.until.as_ps();
        }
        let mean = area / at as f64;
        // 20,000 s: 1333 values of `leo`, each with a standard deviation of 8000 / sqrt(12), so 63 for their mean.
        assert!((mean - course.mean() as f64).abs() < 250.0, "{kind}: {mean}");
    }
}

#[test]
fn a_sine_is_a_sine() {
    let course = Course::Drawn { low: 0, high: 1000, by: by("sine").with(&[("step", Value::Duration(Duration::from_millis(250)))]) };
    // In the middle of each quarter: (1 + sin 45 degrees) / 2 = 0.854.
    assert_eq!(first(&course, 5), [(250, 854), (500, 854), (750, 146), (1000, 146), (1250, 854)]);
}

#[test]
fn satellites_change_at_fixed_times() {
    let course = |first| Course::Drawn { low: 0, high: 1_000_000, by: choice("leo").with(&[("first", first)]) };
    let times = |course| first(&course, 3).into_iter().map(|(until, _)| until / 1000).collect::<Vec<_>>();
    assert_eq!(times(course(Value::Auto)), [15, 30, 45]);
    assert_eq!(times(course(Value::Duration(Duration::from_secs(12)))), [12, 27, 42]);
}

proptest! {
    /// Accepted parameters give values without end, within their bounds, and equal for the same seed.
    #[test]
    fn whatever_check_accepts_goes_on(
        (name, params) in select(NAMES).prop_flat_map(|name| (Just(name), any_params(named(name).params))),
        seed in 0_u64..1000,
    ) {
        let course = Course::Drawn { low: 10, high: 1_000_000, by: Choice { kind: name, params } };
        prop_assume!(course.check().is_ok());
        let (mut one, mut other) = (course.pieces(Rng::named(seed, "")), course.pieces(Rng::named(seed, "")));
        let mut at = Time::ZERO;
        for _ in 0..200 {
            let piece = one.next();
            prop_assert_eq!(piece, other.next(), "{}", name);
            prop_assert!((10..=1_000_000).contains(&piece.value) && (piece.until > at || at == Time::MAX), "{}: {:?} at {:?}", name, piece, at);
            at = piece.until;
        }
    }
}

#[test]
fn outages_come_again() {
    let ms = Duration::from_millis;
    let at = |n| Time::ZERO + ms(n);
    let outages =
        Outages(vec![Outage { from: ms(10), to: ms(15), every: Some(ms(100)) }, Outage { from: ms(112), to: ms(120), every: None }]);
    assert_eq!(outages.check(), Ok(()));
    let next = |time| outages.next(at(time)).map(|(from, to)| [from, to].map(|time| time.as_ps() / 1_000_000_000));
    let found = [0, 10, 14, 15, 113, 115, 120, 1_000_000].map(next);
    assert_eq!(found, [[10, 15], [10, 15], [10, 15], [110, 115], [110, 115], [112, 120], [210, 215], [1_000_010, 1_000_015]].map(Some));
    let lasting = Outages(vec![Outage { from: ms(1), to: ms(11), every: Some(ms(10)) }]);
    assert_eq!(lasting.check().unwrap_err(), "an outage of 10 ms every 10 ms never ends");
}
