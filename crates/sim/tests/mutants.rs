//! Mutants of congestion controls: each does everything as the control does, but for one mistake. Conformance must see them.
//!
//! The mutants stay in the registry of the process: these tests have one of their own.

use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_tcp::TcpConfig;
use longfat_tcp::congestion::{
    self, AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, PathModel, Traits, Unused, Variable, Window, extensions,
};

use longfat_sim::conformance::{self, Finding};

/// Sentences on claims that do not hold.
fn faults(findings: Vec<Finding>) -> Vec<String> {
    findings.into_iter().filter_map(|finding| finding.fault).collect()
}

/// Mistakes in a control.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    /// Paces an eighth of the rate.
    PacesAnEighth,
    /// Grows no more once it has lost.
    StopsGrowing,
    /// Takes no notice of losses.
    IgnoresLosses,
    /// Takes what was in flight at a loss for a quarter of it.
    ReducesTooFar,
    /// Hears of every ACK eight times.
    GrowsEightfold,
    /// Takes the greatest round trip for the least: to it no packet ever waits.
    MaximumForMinimum,
    /// Takes a long round trip for a short one, and a short one for a long one.
    DelayFlipped,
}

const MISTAKES: [Mistake; 7] = [
    Mistake::PacesAnEighth,
    Mistake::StopsGrowing,
    Mistake::IgnoresLosses,
    Mistake::ReducesTooFar,
    Mistake::GrowsEightfold,
    Mistake::MaximumForMinimum,
    Mistake::DelayFlipped,
];

#[derive(Debug)]
struct Mutant {
    inner: Box<dyn CongestionControl + Send>,
    mistake: Mistake,
    srtt: Duration,
    longest: Duration,
    has_lost: bool,
}

impl Mutant {
    /// The sample as the control sees it.
    fn seen(&mut self, ack: &AckSample) -> AckSample {
        self.srtt = ack.srtt;
        self.longest = self.longest.max(ack.rtt.unwrap_or_default());
        let flipped = |rtt: Duration| Duration::from_ps((ack.rtt_min.as_ps() + self.longest.as_ps()).saturating_sub(rtt.as_ps()));
        match self.mistake {
            Mistake::MaximumForMinimum => {
                AckSample { rtt: ack.rtt.map(|_| ack.rtt_min), srtt: ack.rtt_min, forward_delay: ack.forward_delay.map(|_| 0), ..*ack }
            }
            Mistake::DelayFlipped => AckSample {
                rtt: ack.rtt.map(flipped),
                srtt: flipped(ack.srtt.clamp(ack.rtt_min, self.longest)),
                forward_delay: ack.forward_delay.map(|delay| -delay),
                ..*ack
            },
            _ => *ack,
        }
    }
}

impl CongestionControl for Mutant {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }
    fn window(&self) -> Option<&Window> {
        self.inner.window()
    }
    fn window_mut(&mut self) -> Option<&mut Window> {
        self.inner.window_mut()
    }
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        self.inner.path_model()
    }
    fn state(&mut self) -> Vec<Variable<'_>> {
        self.inner.state()
    }
    fn cwnd(&self) -> u64 {
        self.inner.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.inner.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        if self.mistake != Mistake::PacesAnEighth || self.srtt.is_zero() {
            return self.inner.pacing_rate();
        }
        let by_window = self.inner.cwnd() as f64 * 8.0 / self.srtt.as_secs_f64();
        let rate = self.inner.pacing_rate().map_or(by_window, |rate| rate.as_bps() as f64);
        Some(Rate::from_bps((rate / 8.0) as u64))
    }
    fn on_sample(&mut self, ack: &AckSample) {
        let seen = self.seen(ack);
        self.inner.on_sample(&seen);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        let seen = self.seen(ack);
        let times = match self.mistake {
            Mistake::GrowsEightfold => 8,
            Mistake::StopsGrowing if self.has_lost => 0,
            _ => 1,
        };
        (0..times).for_each(|_| self.inner.on_ack(&seen));
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.has_lost = true;
        match (self.mistake, event.kind) {
            (Mistake::IgnoresLosses, Congestion::Loss | Congestion::Ecn) => {}
            (Mistake::ReducesTooFar, Congestion::Loss | Congestion::Ecn) => {
                self.inner.on_congestion(&CongestionEvent { flight_size: event.flight_size / 4, ..*event });
            }
            _ => self.inner.on_congestion(event),
        }
    }
    fn on_spurious(&mut self) {
        self.inner.on_spurious();
    }
    fn on_unused(&mut self, unused: Unused) {
        self.inner.on_unused(unused);
    }
}

/// Builds the mutant that the name says: of `vegas` with the first mistake is `vegas_0`.
fn build(config: &TcpConfig) -> Box<dyn CongestionControl + Send> {
    let (name, number) = config.congestion_control.kind.rsplit_once('_').expect("it has a number");
    let kind = congestion::find(name).expect("it is of the registry");
    let choice = longfat_core::params::Choice { kind: kind.name, params: config.congestion_control.params.clone() };
    let inner = (kind.build)(&TcpConfig { congestion_control: choice, ..config.clone() });
    let mistake = MISTAKES[number.parse::<usize>().expect("it is a number")];
    Box::new(Mutant { inner, mistake, srtt: Duration::ZERO, longest: Duration::ZERO, has_lost: false })
}

/// Findings on the control `name` that makes `mistake`.
fn findings(name: &str, mistake: Mistake) -> Vec<Finding> {
    let kind = congestion::find(name).expect("it is of the registry");
    let number = MISTAKES.iter().position(|other| *other == mistake).expect("it is there");
    let mutant = extensions::leak(&format!("{name}_{number}"));
    assert!(extensions::add(ControlKind { name: mutant, build, ..*kind }));
    conformance::control(congestion::find(mutant).expect("it was added"), &mut || true).unwrap()
}

/// Use of each kind of promise: utilization sees a control that does not send, the queue one that does not stop, the index one that does not give way, and
/// the share beside CUBIC one that takes all.
#[test]
fn mistakes_break_promises() {
    for (name, mistake, broken) in [
        ("reno", Mistake::PacesAnEighth, "reno_0 used "),
        ("reno", Mistake::StopsGrowing, "reno_1 shared with itself at a Jain index of "),
        ("cubic", Mistake::IgnoresLosses, "cubic_2 got "),
        ("reno", Mistake::ReducesTooFar, "reno_3 used "),
        ("highspeed", Mistake::GrowsEightfold, "highspeed_4 got "),
        ("vegas", Mistake::MaximumForMinimum, "vegas_5 alone kept a mean queue of "),
        ("vegas", Mistake::DelayFlipped, "vegas_6 used "),
        ("tcp_lp", Mistake::MaximumForMinimum, "tcp_lp_5 got "),
        ("prague", Mistake::IgnoresLosses, "prague_2 alone kept a mean queue of "),
    ] {
        let faults = faults(findings(name, mistake));
        assert!(faults.iter().any(|fault| fault.starts_with(broken)), "{name} that makes the mistake {mistake:?} breaks: {faults:?}");
    }
}

/// Prints which promise each mutant of each control breaks: `cargo test -p longfat-sim --test mutants -- --ignored --nocapture`.
#[test]
#[ignore = "a look at all of them, which takes a minute"]
fn every_mutant_of_every_control() {
    let (mut seen, mut others) = (0, 0);
    for kind in congestion::REGISTRY {
        let measured = |findings: &[Finding]| findings.iter().map(|finding| finding.measured.clone()).collect::<Vec<_>>();
        let right = measured(&conformance::control(kind, &mut || true).unwrap());
        for mistake in MISTAKES {
            let found = findings(kind.name, mistake);
            let is_same = measured(&found) == right;
            let faults = faults(found);
            others += usize::from(!is_same);
            seen += usize::from(!faults.is_empty());
            let said = if is_same { "runs as before: it does not use this".to_owned() } else { faults.join("; ") };
            println!("{} {mistake:?}: {}", kind.name, if said.is_empty() { "NOT SEEN" } else { &said });
        }
    }
    println!("{seen} of {others} mutants that run otherwise break a promise");
}
