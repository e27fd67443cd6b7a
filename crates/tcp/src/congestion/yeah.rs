//! YeAH (Baiocchi, Castellani and Vacirca 2007): Scalable while the queue is short, Reno while it is not, and in the latter it
//! takes its own packets out of the queue before they are lost; unless it competes with flows that do not.

use super::promises::{CONVERGES, FULL, beside_cubic, sawtooth};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::congestion::rounds::Rounds;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "yeah",
    summary: "Scalable while the queue is short, else Reno that empties the queue before it overflows",
    source: "Baiocchi, Castellani and Vacirca, YeAH-TCP: yet another highspeed TCP, PFLDnet 2007",
    params: &[
        ParamSpec {
            name: "q_max",
            kind: Kind::Count { unit: "packets", min: 1, max: 1_000_000 },
            default: Some(Value::Count(80)),
            doc: "Q_max: most packets of its own in the queue in fast mode",
        },
        ParamSpec {
            name: "phi",
            kind: Kind::Number { min: 0.1, max: 1000.0 },
            default: Some(Value::Number(8.0)),
            doc: "fast mode wants less queueing delay than 1/phi of the base round trip",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.5, "Baiocchi, Castellani and Vacirca 2007: a loss takes what is queued, here one BDP of two"),
        CONVERGES,
        beside_cubic(0.3, 0.65, "Baiocchi, Castellani and Vacirca 2007: fair to Reno"),
    ],
    build: |c| Box::new(Yeah::new(c)),
};

/// Kelly 2003: what a segment acknowledged adds to the window of Scalable TCP, in segments.
const SCALABLE: f64 = 0.01;
/// Rounds of slow mode that tell of flows that fill the queue whatever we do, and rounds of fast mode that tell of none.
const GREEDY_ROUNDS: u32 = 16;
const FREE_ROUNDS: u32 = 50;

/// Knowledge of the path and its rivals.
#[derive(Clone, Copy, Debug)]
struct Rivals {
    /// Q: packets of its own in the queue in the last round.
    queue: f64,
    fast: bool,
    /// Rounds in slow mode, and rounds of fast mode in a row.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window a Reno flow beside it would have by now, in bytes: decongestion goes no lower.
    reno: u64,
}

const NO_RIVALS: Rivals = Rivals { queue: 0.0, fast: true, slow_rounds: 0, fast_rounds: 0, reno: 0 };

/// YeAH's window, and when it is in which mode.
#[derive(Clone, Debug)]
pub struct Yeah {
    window: Window,
    q_max: f64,
    phi: f64,
    rounds: Rounds,
    /// The least round trip of the connection; zero before the first.
    base: Duration,
    /// The round trips of this round are of what was sent before the last decongestion.
    settling: bool,
    rivals: Rivals,
    /// Knowledge before the last reduction.
    before: Rivals,
}

impl Yeah {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Yeah {
            window: Window::new(config),
            q_max: params.integer("q_max") as f64,
            phi: params.number("phi"),
            rounds: Rounds::default(),
            base: Duration::ZERO,
            settling: false,
            rivals: NO_RIVALS,
            before: NO_RIVALS,
        }
    }

    /// PFLDnet 2007 §2: Q = RTT_queue G with G = cwnd / RTT_min, the packets of its own in the queue.
    fn queued(&self, least: Duration) -> f64 {
        self.window.segments() * (1.0 - self.base.as_secs_f64() / least.as_secs_f64())
    }

    /// A round is over, of which `least` was the least round trip: fast mode or slow mode, and perhaps decongestion.
    fn end_round(&mut self, least: Duration) {
        let queue = self.queued(least);
        // PFLDnet 2007 §2: L = RTT_queue / RTT_base.
        let load = least.as_secs_f64() / self.base.as_secs_f64() - 1.0;
        let (w, r) = (&mut self.window, &mut self.rivals);
        r.queue = queue;
        if r.queue < self.q_max && load < 1.0 / self.phi {
            if !r.fast {
                r.reno = w.cwnd / 2;
            }
            r.fast = true;
            r.fast_rounds += 1;
            if r.fast_rounds > FREE_ROUNDS {
                r.slow_rounds = 0;
            }
            return;
        }
        (r.fast, r.fast_rounds) = (false, 0);
        r.slow_rounds = r.slow_rounds.saturating_add(1);
        r.reno += w.mss;
        if r.queue > self.q_max && w.cwnd > r.reno {
            // Precautionary decongestion: less by Q, though not under half, nor under what Reno would have.
            let emptied = w.cwnd.saturating_sub((r.queue * w.mss as f64) as u64);
            w.move_to(emptied.max(w.cwnd / 2).max(r.reno));
            self.settling = true;
        }
    }
}

impl CongestionControl for Yeah {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let Rivals { queue, fast, reno, .. } = &mut self.rivals;
        vec![
            Variable::segments("queue", queue),
            Variable::flag("fast", fast),
            Variable::bytes("reno", reno, 0),
            Variable::span("rtt_min", &mut self.base),
        ]
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        let over = self.rounds.sample(ack);
        self.base = ack.rtt_min;
        if let Some(trips) = over.filter(|trips| !trips.least.is_zero()) {
            // ACKs in the round after a decongestion are of data sent before it, and would cause a second one.
            if !std::mem::take(&mut self.settling) {
                self.end_round(trips.least);
            }
        }
        if self.window.slow_start(ack) {
            return;
        }
        // PFLDnet 2007 §2: Scalable in fast mode, Reno in slow mode. Departs where Scalable would be slower than Reno, under 100
        // segments: the faster of the two, since YeAH means to be never worse than Reno.
        let segments = self.window.segments();
        let a_window = if self.rivals.fast { (SCALABLE * segments).max(1.0) } else { 1.0 };
        self.window.increase(ack, a_window);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != Congestion::TimeoutAgain {
            self.before = self.rivals;
        }
        if let Some(least) = self.rounds.least().filter(|least| !least.is_zero()) {
            self.rivals.queue = self.queued(least);
        }
        self.rounds.restart();
        match event.kind {
            Congestion::Loss | Congestion::Ecn | Congestion::Local => {
                let flight = event.flight_size as f64;
                // PFLDnet 2007 §2: beside greedy flows as Reno; else by what is in the queue, an eighth at least and half at most.
                let greedy = self.rivals.slow_rounds > GREEDY_ROUNDS;
                let less =
                    if greedy { flight / 2.0 } else { (self.rivals.queue * self.window.mss as f64).clamp(flight / 8.0, flight / 2.0) };
                self.window.reduce(event, 1.0 - if flight > 0.0 { less / flight } else { 0.5 });
                (self.rivals.fast_rounds, self.rivals.reno) = (0, self.rivals.reno / 2);
            }
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.window.reduce(event, 0.5);
                self.rivals = NO_RIVALS;
            }
        }
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.rivals = self.before;
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            self.rounds.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn yeah(segments: u64) -> (Path, Yeah) {
        (Path::new(100), Yeah::new(&config("yeah", &[], segments)))
    }

    #[test]
    fn fast_mode_is_scalable_and_slow_mode_is_reno() {
        let (mut path, mut y) = yeah(1000);
        path.round(&mut y, 100);
        // A hundredth for each segment acknowledged.
        assert!((y.window.segments() - 1010.0).abs() < 0.01, "{}", y.window.segments());
        // 4 ms of queue: 1010 x 4 / 104 = 38.8 packets < 80 and 4 % < 1/8: still fast.
        path.round(&mut y, 104);
        path.round(&mut y, 104);
        assert!(y.rivals.fast && (y.rivals.queue - 39.2).abs() < 0.1, "{:?}", y.rivals);
        assert!(y.cwnd() / MSS >= 1030);
        // Few packets, but 15 % of queueing delay: slow.
        let (mut path, mut y) = yeah(200);
        path.round(&mut y, 115);
        path.round(&mut y, 115);
        assert!(!y.rivals.fast && y.rivals.queue < 80.0, "{:?}", y.rivals);
        let before = y.cwnd();
        path.round(&mut y, 115);
        assert!((y.cwnd() - before).abs_diff(MSS) < 20, "{}", y.cwnd() - before);
    }

    #[test]
    fn decongestion_takes_its_packets_out_of_the_queue() {
        let (mut path, mut y) = yeah(1000);
        path.round(&mut y, 110);
        let before = y.window.segments();
        path.round(&mut y, 100);
        // Q = 10 ms of 110, 92 packets or so; and a round of Reno.
        let expected = before - 10.0 * before / 110.0 + 1.0;
        assert!((y.window.segments() - expected).abs() < 0.1, "{} {expected}", y.window.segments());
        // The queue is gone, which the round after the next one tells: fast again.
        path.round(&mut y, 100);
        assert!(!y.rivals.fast);
        path.round(&mut y, 100);
        assert!(y.rivals.fast);
    }

    #[test]
    fn beside_greedy_flows_it_does_not_give_way_for_ever() {
        let (mut path, mut y) = yeah(1000);
        for _ in 0..100 {
            path.round(&mut y, 150);
        }
        // None goes below a Reno that had gained a segment in each of the rounds judged.
        assert!(y.rivals.slow_rounds > GREEDY_ROUNDS);
        assert!(y.cwnd() >= y.rivals.reno && y.rivals.reno >= 90 * MSS, "{:?}", y.rivals);
        let before = y.cwnd();
        reduce(&mut y, Time::ZERO, Congestion::Loss);
        assert!(y.cwnd().abs_diff(before / 2) <= 1, "as Reno");
    }

    #[test]
    fn alone_a_loss_costs_what_is_queued() {
        for (queue, left) in [(0.0, 875), (200.0, 800), (900.0, 500)] {
            let (_, mut y) = yeah(1000);
            y.rivals.queue = queue;
            reduce(&mut y, Time::ZERO, Congestion::Loss);
            assert_eq!(y.cwnd() / MSS, left);
        }
    }

    #[test]
    fn a_spurious_loss_is_taken_back_with_all_that_was_learned() {
        let (_, mut y) = yeah(1000);
        y.rivals = Rivals { queue: 7.0, fast: false, slow_rounds: 9, fast_rounds: 0, reno: 300 * MSS };
        reduce(&mut y, Time::ZERO, Congestion::Timeout);
        assert_eq!((y.cwnd(), y.ssthresh() / MSS, y.rivals.slow_rounds), (MSS, 500, 0));
        y.on_spurious();
        assert_eq!((y.cwnd() / MSS, y.rivals.slow_rounds, y.rivals.reno), (1000, 9, 300 * MSS));
    }
}
