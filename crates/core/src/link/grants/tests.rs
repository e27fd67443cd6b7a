use super::*;
use crate::rng::Rng;
use proptest::prelude::*;

const US: u64 = 1_000_000;

/// Returns grants at 10 Mb/s, intervals of 2 ms, and 1.5 ms from a request to its grant: 1250 bytes take 1 ms.
fn grants(outages: &[(u64, u64)]) -> Grants {
    let config = RequestGrant {
        rate: Rate::from_bps(10_000_000),
        sustained: Rate::from_bps(10_000_000),
        burst: 3044,
        interval: Duration::from_millis(2),
        lead: Duration::from_micros(1500),
    };
    let outages = outages.iter().map(|(from, to)| (Duration::from_micros(*from), Duration::from_micros(*to)));
    Grants::new(config, Outages::once(outages), Rng::named(1, "grants"))
}

fn us(us: u64) -> Time {
    Time::from_ps(us * US)
}

fn in_us(time: Time) -> u64 {
    assert_eq!(time.as_ps() % US, 0);
    time.as_ps() / US
}

/// Returns when it would ask in each of the first intervals, in us within that, if it is granted nothing: as many draws of the same stream.
fn draws(n: usize) -> Vec<u64> {
    let mut rng = Rng::named(1, "grants");
    (0..n).map(|_| rng.below(2000 * US) / US).collect()
}

/// One packet comes to an idle line at 0. It is asked for at the first draw, d: that is heard at d + 1.5 ms, and granted in the interval
/// that begins next.
#[test]
fn an_idle_modem_asks_and_waits_for_a_grant() {
    let heard = draws(1)[0] + 1500;
    let granted = heard.div_ceil(2000) * 2000;
    assert_eq!(in_us(grants(&[]).sends(Time::ZERO, 1250, 0)), granted + 1000);
}

/// Packets that arrive after the request of an interval are asked for in the next interval.
#[test]
fn what_comes_too_late_for_a_request_goes_into_the_next() {
    let at = draws(1)[0];
    let mut grants = grants(&[]);
    let end = grants.sends(us(at + 1), 1250, 0);
    let heard = 2000 + draws(2)[1] + 1500;
    assert_eq!(in_us(end), heard.div_ceil(2000) * 2000 + 1000);
}

/// Three packets of 0.5 ms wait with the first one. All four are asked for at once, fill an interval, and leave one after the other. Four more
/// come before that burst, are asked for on it, and have the next interval, which begins 2 ms later.
#[test]
fn a_busy_modem_asks_on_its_bursts() {
    let mut grants = grants(&[]);
    grants.note(Time::ZERO, 0);
    let first = grants.sends(Time::ZERO, 625, 0);
    grants.note(Time::ZERO, 3 * 625);
    let burst = (draws(1)[0] + 1500).div_ceil(2000) * 2000;
    assert_eq!(in_us(first), burst + 500);
    grants.note(us(burst - 100), 7 * 625);
    let ends =
        std::iter::successors(Some((first, 7)), |(end, left)| (*left > 0).then(|| (grants.sends(*end, 625, (left - 1) * 625), left - 1)));
    let expected: Vec<_> = [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000].map(|after| burst + after).into();
    assert_eq!(ends.map(|(end, _)| in_us(end)).collect::<Vec<_>>(), expected);
}

/// 5 ms of packets: two whole intervals, and half of a third. The third packet, of 1 ms, begins in one and ends in the next.
#[test]
fn what_does_not_fit_into_an_interval_goes_on_in_the_next() {
    let mut grants = grants(&[]);
    let mut end = grants.sends(Time::ZERO, 1250, 0);
    let burst = in_us(end) - 1000;
    let mut ends = vec![];
    // The rest comes just before the burst, and is asked for on it: 1.875 ms each.
    grants.note(us(burst - 1), 2 * 2344);
    for left in [1, 0] {
        end = grants.sends(end, 2344, left * 2344);
        ends.push(end.as_ps() - burst * US);
    }
    // In the next interval, from 2 ms on; the second has 0.1248 ms of that one, and the rest from 4 ms on.
    let each = 2344 * 800_000;
    assert_eq!(ends, [2000 * US + each, 4000 * US + 2 * each - 2000 * US]);
}

/// A modem that is down when it would ask, or when a grant would begin, does not ask or send.
#[test]
fn nothing_is_asked_or_granted_during_an_outage() {
    let at = draws(1)[0];
    let up = grants(&[]).sends(Time::ZERO, 1250, 0);
    let late = grants(&[(0, at + 1)]).sends(Time::ZERO, 1250, 0);
    assert_eq!(in_us(late), (2000 + draws(2)[1] + 1500).div_ceil(2000) * 2000 + 1000);
    let granted = in_us(up) - 1000;
    assert_eq!(in_us(grants(&[(granted, granted + 1)]).sends(Time::ZERO, 1250, 0)), granted + 3000);
}

/// Over many packets that each find the line idle: the wait for the instant of the request is that of an instant drawn in each interval, and a
/// grant comes with the interval after it was heard.
#[test]
fn the_wait_of_a_lone_packet_is_as_long_as_it_should_be() {
    let (mut grants, mut rng) = (grants(&[]), Rng::named(5, "arrivals"));
    let (n, mut at, mut sum, mut least, mut most) = (20_000, Time::ZERO, 0.0, f64::MAX, 0.0_f64);
    for _ in 0..n {
        at += Duration::from_ps(20_000 * US + rng.below(20_000 * US));
        let wait = grants.sends(at, 125, 0).since(at).as_secs_f64() * 1e3 - 0.1;
        (sum, least, most) = (sum + wait, least.min(wait), most.max(wait));
    }
    // With u, the arrival, and d, the draw, even in 0..2 ms. In half of the cases d > u, and the request is heard at d + 1.5 of this interval: by its
    // end (d <= 0.5; 1/8 of those) or by that of the next. Else it is asked for in the next one. Of the grant: E = 2 P(d <= 0.5) + 4 P(d > 0.5) from the beginning of
    // the interval of the request. P(d > u, d <= 0.5) = 1/32, P(d > u, d > 0.5) = 15/32; else 2 + (2 / 4 + 4 x 3 / 4) = 5.5. So (2 + 60) / 32 + 5.5 / 2 - 1 = 3.6875 ms.
    let mean = sum / f64::from(n);
    assert!((mean - 3.6875).abs() < 0.04, "{mean}");
    // At least 1.5 ms, at the most 4 ms after the interval that follows.
    assert!((1.5..1.6).contains(&least) && (5.9..6.0).contains(&most), "{least} {most}");
}

/// 2.5 Mb/s of 10 over a long time, and 3044 bytes at once, which are 2.4352 ms: of 100 packets of 625 bytes the first interval takes 2 ms, and has
/// 0.4352 and the 0.5 of an interval for the next. Each later one has 0.5 ms, or one packet.
#[test]
fn tokens_bound_what_is_granted() {
    let config = RequestGrant { sustained: Rate::from_bps(2_500_000), ..grants(&[]).config };
    let mut grants = Grants::new(config, Outages::default(), Rng::named(1, "grants"));
    let burst = (draws(1)[0] + 1500).div_ceil(2000) * 2000;
    let mut end = grants.sends(Time::ZERO, 625, 0);
    grants.note(Time::ZERO, 99 * 625);
    let mut ends = vec![in_us(end) - burst];
    for left in (0..99).rev() {
        end = grants.sends(end, 625, left * 625);
        ends.push((end.as_ps() / US) - burst);
    }
    // In the second interval one packet and 0.4352 ms of the next, whose last 64.8 us are sent in the third.
    assert_eq!(ends[..8], [500, 1000, 1500, 2000, 2500, 4064, 6064, 8064]);
    assert_eq!(ends[99], 4064 + 94 * 2000);
}

#[test]
fn what_makes_no_sense_is_one_sentence() {
    let refused = |changes: &[(&'static str, Value)]| {
        let rate = [("rate", Value::Rate(Rate::from_bps(1_000_000)))];
        let by = super::super::service::choice("docsis").with(&rate).with(changes);
        (KIND.check)(&by.params).unwrap_err()
    };
    let time = |us| Value::Duration(Duration::from_micros(us));
    assert_eq!(
        refused(&[("map_interval", time(1)), ("request_to_grant", time(1_000_000))]),
        "request_to_grant (1 s) is more than 1000 times the map_interval (1 us)"
    );
    let sustained = Value::Rate(Rate::from_bps(2_000_000));
    assert_eq!(refused(&[("sustained", sustained)]), "sustained (2 Mbit/s) is more than rate (1 Mbit/s)");
}

proptest! {
    /// Packets of any length at any times, dropped from the queue now and then. A packet never leaves before it could have been asked for; in order; no more
    /// is carried than the rate allows; and what is said of a packet's end holds whatever comes later, which `sends` itself checks.
    #[test]
    fn whatever_comes_is_carried_in_order_and_at_the_rate(
        packets in prop::collection::vec((0_u64..4_000, 40_u32..1500, prop::bool::weighted(0.1)), 1..80),
        interval in 1_u64..5_000,
        lead in 1_u64..12_000,
        sustained in 200_000_u64..10_000_000,
        burst in 1522_u64..20_000,
        seed in 0_u64..100,
    ) {
        let config = RequestGrant { rate: Rate::from_bps(10_000_000), sustained: Rate::from_bps(sustained), burst, interval: Duration::from_micros(interval), lead: Duration::from_micros(lead) };
        let mut grants = Grants::new(config, Outages::default(), Rng::named(seed, "grants"));
        let (mut now, mut free, mut sent) = (Time::ZERO, Time::ZERO, Vec::new());
        let mut queue = VecDeque::new();
        let held = |queue: &VecDeque<(Time, u32)>| queue.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>();
        let mut depart = |grants: &mut Grants, queue: &mut VecDeque<(Time, u32)>, start: Time| {
            let (came, bytes) = queue.pop_front().unwrap();
            let end = grants.sends(start, bytes, held(queue));
            let time = Duration::from_ps(u64::from(bytes) * 800_000);
            // All of it in tokens, of which there may have been none; and two rounds of a request.
            let tokens = time * (10_000_000 / sustained + 1);
            assert!(end >= start + time && end <= start + tokens + (config.interval * 3 + config.lead) * 3, "{start:?} {end:?} {came:?}");
            sent.push((start, end, u64::from(bytes)));
            end
        };
        for (gap, bytes, dropped) in packets {
            now += Duration::from_micros(gap);
            while free <= now && !queue.is_empty() {
                free = depart(&mut grants, &mut queue, free);
            }
            if dropped && queue.len() > 1 {
                queue.pop_back();
            }
            queue.push_back((now, bytes));
            if free <= now {
                free = depart(&mut grants, &mut queue, now);
            } else {
                grants.note(now, held(&queue));
            }
        }
        while !queue.is_empty() {
            free = depart(&mut grants, &mut queue, free);
        }
        // From the beginning of any packet to the end of any later one no more is carried than the bucket holds, and gets meanwhile, and in one interval.
        for (i, (from, _, _)) in sent.iter().enumerate() {
            let mut bytes = 0;
            for (_, to, more) in &sent[i..] {
                bytes += more;
                let intervals = to.since(*from).as_ps() / (interval * US) + 2;
                let each = sustained as f64 * interval as f64 / 8e6;
                assert!(bytes as f64 <= each.max(burst as f64) + each * intervals as f64 + 1.0, "{bytes} from {from:?} to {to:?}");
            }
        }
    }
}
