//! Stack profiles: named sets of TCP parameters that together are a stack people run or ran. One entry a stack.

mod kernel;

use crate::TcpConfig;
use crate::congestion::{self, ControlKind, Variant};
use crate::options::PARAMS;
use longfat_core::by_name;
use longfat_core::params::{Choice, Params, Value};
use longfat_core::time::Duration;

pub use kernel::{Kernel, NAMES as KERNELS};

/// The parameter on which `with_control` hangs.
const CONTROL: &str = "congestion_control";

/// A named set of overrides over the defaults of [`PARAMS`].
#[derive(Debug)]
pub struct Stack {
    /// Name, as the key `stack` of an experiment file spells it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source of the definition: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Differences from the defaults; names are those of [`PARAMS`].
    pub overrides: Overrides,
    /// Variant of each control that it has.
    pub controls: Variant,
    /// Further differences while the control of this name is in use: what the stack has as a part of that control alone.
    pub with_control: &'static [(&'static str, Overrides)],
    /// Versions of which it has the rules, the oldest first; the last is the one that holds where none is said.
    pub kernels: &'static [Kernel],
}

/// Parameters by name, and the values that a stack gives them.
pub type Overrides = &'static [(&'static str, Value)];

/// The overrides of 4.3BSD-Tahoe, followed by those of its clock and its acknowledgments.
macro_rules! tahoe {
    ($($clock:expr),* $(,)?) => {
        &[
            ("recovery", Value::Choice("tahoe")),
            ("timestamps", Value::Bool(false)),
            ("window_scale", Value::Bool(false)),
            ("sack", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("ssthresh_half_rwnd", Value::Bool(true)),
            ("send_buffer", Value::Bytes(4096)),
            ("receive_buffer", Value::Bytes(4096)),
            ("delayed_ack_time", Value::Duration(Duration::from_millis(200))),
            ("rto_max", Value::Duration(Duration::from_secs(64))),
            ("rto_variances", Value::Count(2)),
            ("rto_doublings", Value::Count(6)),
            ("halve_each_timeout", Value::Bool(true)),
            ("rto_after_syn_loss", Value::Duration(Duration::ZERO)),
            ("repeated_fast_retransmit", Value::Bool(true)),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            ("abc_limit", Value::Count(0)),
            $($clock),*
        ]
    };
}

/// Every stack, in the order of listings.
pub const REGISTRY: &[Stack] = &[
    Stack {
        name: "rfc",
        summary: "what the RFCs say today: SACK with PRR, initial window 10, rto of at least 1 s",
        source: "RFC 9293, 5681, 6298, 2018, 6675, 9937, 6928, 3042, 3465 and 7323",
        overrides: &[],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    Stack {
        name: "bsd-tahoe-1988",
        summary: "4.3BSD-Tahoe: slow start after every loss, ssthresh from half the peer's window, 500 ms slow timer, no options but MSS",
        source: "Jacobson, Congestion avoidance and control, SIGCOMM 1988; Stevens, TCP/IP Illustrated, vol. 1 chapters 20 and 21, vol. 2 chapter 25; Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, section 2 and appendix B",
        overrides: tahoe![
            ("delayed_ack", Value::Choice("heartbeat")),
            ("slow_timer", Value::Duration(Duration::from_millis(500))),
            ("rto_initial", Value::Duration(Duration::from_secs(6))),
            ("rto_min", Value::Duration(Duration::from_secs(1))),
        ],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    // Section 2 and appendix B give the clock, footnote 9 the first timeout. The paper does not say how receivers acknowledge.
    Stack {
        name: "bsd-tahoe-1995",
        summary: "4.3BSD-Tahoe in simulators of local ATM networks: a clock of 0.1 ms, rto of at least 0.2 ms, an ACK for each packet",
        source: "Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, section 2 and appendix B; else as bsd-tahoe-1988",
        overrides: tahoe![
            ("delayed_ack", Value::Choice("off")),
            ("slow_timer", Value::Duration(Duration::from_micros(100))),
            ("rto_initial", Value::Duration(Duration::from_millis(200))),
            ("rto_min", Value::Duration(Duration::from_micros(200))),
        ],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    // The first two describe 4.3BSD-Reno and its descendants; the third names IRIX 5.2: BSD Reno with RFC 1323 by Skibo.
    Stack {
        name: "bsd-reno-1994",
        summary: "IRIX 5.2-like BSD Reno with RFC 1323: 500 ms slow timer, 200 ms delayed-ACK heartbeat, initial window 1",
        source: "RFC 2525; Stevens, TCP/IP Illustrated, vol. 1 chapter 21, vol. 2 chapter 25; Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 4.3",
        overrides: &[
            ("recovery", Value::Choice("reno")),
            ("sack", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("send_buffer", Value::Bytes(61_440)),
            ("receive_buffer", Value::Bytes(61_440)),
            ("delayed_ack", Value::Choice("heartbeat")),
            ("delayed_ack_time", Value::Duration(Duration::from_millis(200))),
            ("slow_timer", Value::Duration(Duration::from_millis(500))),
            ("timestamp_tick", Value::Duration(Duration::from_millis(500))),
            ("rto_initial", Value::Duration(Duration::from_secs(6))),
            ("rto_min", Value::Duration(Duration::from_secs(1))),
            ("rto_max", Value::Duration(Duration::from_secs(64))),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            ("abc_limit", Value::Count(0)),
            ("extra_increment", Value::Bool(true)),
        ],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    // The RFCs as they stood for the simulators of their time, which had no handshake options to agree on. The packets of papers/drs,
    // counted, say that the simulators began with one segment and acknowledged each.
    Stack {
        name: "reno-2001",
        summary: "Reno as simulators of 2001 had it: RFC 2581 and 2988, initial window 1, an ACK a segment, no SACK, no timestamps",
        source: "RFC 2581; RFC 2988; Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, whose packets were counted",
        overrides: &[
            ("recovery", Value::Choice("reno")),
            ("sack", Value::Bool(false)),
            ("timestamps", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("delayed_ack", Value::Choice("off")),
            ("slow_timer", Value::Duration(Duration::from_millis(100))),
            ("rto_initial", Value::Duration(Duration::from_secs(3))),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            // A segment an ACK in slow start. Simulators counted windows in segments: growth in bytes an ACK, rounded up to one
            // (RFC 5681 §3.1), would be exponential beyond mss^2 bytes.
            ("abc_limit", Value::Count(1)),
        ],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    // The first describes Linux 2.4; the second ran 2.4.19 to 2.4.22 with other congestion controls in it.
    Stack {
        name: "linux-2.4",
        summary: "Linux 2.4 of 2002 to 2004: Reno by ACKs, SACK, initial window 3, rto of at least 200 ms, 10 ms clock",
        source: "Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002; Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, section 3",
        overrides: &[
            ("initial_window", Value::Count(3)),
            ("rto_initial", Value::Duration(Duration::from_secs(3))),
            ("rto_min", Value::Duration(Duration::from_millis(200))),
            ("rto_min_of", Value::Choice("variance")),
            ("rto_max", Value::Duration(Duration::from_secs(120))),
            ("timestamp_tick", Value::Duration(Duration::from_millis(10))),
            ("quick_acks", Value::Count(16)),
            ("abc_limit", Value::Count(0)),
            // Linux counts cwnd in segments, and ACKs up to a cwnd of them.
            ("count_segments", Value::Bool(true)),
        ],
        controls: Variant::Published,
        with_control: &[],
        kernels: &[],
    },
    // ip-sysctl: tcp_sack, tcp_timestamps, tcp_window_scaling and tcp_slow_start_after_idle on,
    // tcp_recovery = 1 (RACK), tcp_early_retrans = 3 (tail loss probe), tcp_frto = 2, tcp_dsack = 1,
    // tcp_ecn = 2 (answers but does not ask: off between two such), tcp_rto_max_ms 120 s, tcp_rto_min_us 200 ms. Buffers are left
    // without bound, as a host tuned for a long fat path has them: tcp_rmem and tcp_wmem end at 6 MiB and 4 MiB by default.
    Stack {
        name: "linux",
        summary: "the defaults of Linux 6.18, or of an older `kernel`: CUBIC with HyStart, initial window 10, RACK-TLP with PRR, F-RTO and undo, rto of at least 200 ms",
        source: "Linux Documentation/networking/ip-sysctl; tcp(7); RFC 6928",
        overrides: &[
            ("congestion_control", Value::Choice("cubic")),
            ("recovery", Value::Choice("rack")),
            ("frto", Value::Bool(true)),
            ("undo", Value::Bool(true)),
            // Segments of whatever size.
            ("initial_window", Value::Count(10)),
            ("ssthresh_from_cwnd", Value::Bool(true)),
            ("prr_on_marks", Value::Bool(true)),
            ("slow_start_half_used", Value::Bool(true)),
            ("cwnd_validation", Value::Choice("rfc2861")),
            ("rtt_of_each_ack", Value::Bool(true)),
            ("rto_min", Value::Duration(Duration::from_millis(200))),
            ("rto_min_of", Value::Choice("variance")),
            ("rto_max", Value::Duration(Duration::from_secs(120))),
            // Total time that tcp_retries2 = 15 allows.
            ("user_timeout", Value::Duration(Duration::from_millis(924_600))),
            ("syn_retries", Value::Count(6)),
            ("syn_ack_retries", Value::Count(5)),
            ("quick_acks", Value::Count(16)),
            ("delayed_ack", Value::Choice("adaptive")),
            ("grow_at_recovery_end", Value::Bool(true)),
            ("abc_limit", Value::Count(1_000_000)),
            ("window_probe", Value::Choice("empty")),
        ],
        controls: Variant::Linux,
        // Ha and Rhee 2011: HyStart came to Linux with CUBIC, and is a part of that module (its parameter `hystart`).
        // The rest is measured (docs/stacks/linux.md). Our twins in BPF count fractions of segments, so only the kernel's own do not.
        with_control: &[
            ("reno", &[("whole_segments", Value::Bool(true))]),
            ("hybla", &[("whole_segments", Value::Bool(true))]),
            ("westwood", &[("whole_segments", Value::Bool(true))]),
            (
                "cubic",
                &[
                    ("slow_start", Value::Choice("hystart")),
                    ("growth_before_loss", Value::Count(5)),
                    ("reno_above_prior", Value::Bool(false)),
                    ("whole_segments", Value::Bool(true)),
                ],
            ),
        ],
        kernels: kernel::LINUX,
    },
];
by_name!(Stack, "stack");

impl Stack {
    /// One value for every parameter: the defaults with this stack's overrides.
    pub fn params(&'static self) -> Params {
        Setup::new(self).params
    }
}

/// A stack and what is said beside it. What is said holds; the rest is what the stack has with the control in use, whichever was said first.
#[derive(Clone, Debug)]
pub struct Setup {
    stack: &'static Stack,
    kernel: Option<&'static Kernel>,
    said: Params,
    params: Params,
}

impl Setup {
    /// The stack alone.
    pub fn new(stack: &'static Stack) -> Self {
        let mut setup = Setup { stack, kernel: stack.kernels.last(), said: Params::default(), params: Params::default() };
        setup.resolve();
        setup
    }

    /// The stack.
    pub fn stack(&self) -> &'static Stack {
        self.stack
    }

    /// The version whose rules it has; `None`: it has no versions.
    pub fn kernel(&self) -> Option<&'static Kernel> {
        self.kernel
    }

    /// Takes the rules of another version, one of the stack's.
    pub fn set_kernel(&mut self, kernel: &'static Kernel) {
        self.kernel = Some(kernel);
        self.resolve();
    }

    /// Says that `name` is `value`.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.said.set(name, value);
        self.params.set(name, value);
        if name == CONTROL {
            self.resolve();
        }
    }

    /// One value for every parameter.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The control in use, in the stack's variant.
    pub fn control(&self) -> Choice {
        let mut control = congestion::choice(self.params.choice(CONTROL));
        self.fill(&mut control, &[]);
        control
    }

    /// Gives a control or a window sizing the parameters that the stack and its version have for it, but for those that are `said`.
    pub fn fill(&self, choice: &mut Choice, said: &[&'static str]) {
        let variant = congestion::find(choice.kind).map_or(&[][..], |kind| kind.differs(self.stack.controls));
        let version = self.kernel.into_iter().flat_map(|kernel| kernel.of(choice.kind));
        for (name, value) in variant.iter().chain(version).filter(|(name, _)| !said.contains(name)) {
            choice.params.set(name, *value);
        }
    }

    fn resolve(&mut self) {
        self.params = Params::defaults(PARAMS);
        self.take(self.stack.overrides);
        let kernel = self.kernel.map_or((&[][..], &[][..]), |kernel| (kernel.overrides, kernel.with_control));
        self.take(kernel.0);
        let said = self.said.0.iter().find(|(name, _)| *name == CONTROL).map(|(_, value)| *value);
        let control = said.unwrap_or(self.params.get(CONTROL));
        for (_, overrides) in self.stack.with_control.iter().chain(kernel.1).filter(|(name, _)| Value::Choice(name) == control) {
            self.take(overrides);
        }
        for (name, value) in &self.said.0 {
            self.params.set(name, *value);
        }
    }

    fn take(&mut self, overrides: Overrides) {
        for (name, value) in overrides {
            self.params.set(name, *value);
        }
    }
}

/// Returns the queue that the bottlenecks of `control` need, for one that asks routers: they have its name. `None`: any queue does.
pub fn router(control: &ControlKind) -> Option<&'static str> {
    let config = TcpConfig { congestion_control: congestion::choice(control.name), ..TcpConfig::new(&named("rfc").params(), 1500) };
    ((control.build)(&config).traits().explicit > 0.0).then_some(control.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window_sizing;

    fn setup(stack: &str, said: &[(&'static str, &'static str)]) -> Setup {
        let mut setup = Setup::new(named(stack));
        for (name, word) in said {
            setup.set(name, Value::Choice(word));
        }
        setup
    }

    #[test]
    fn hystart_is_a_part_of_cubic_in_linux_and_of_no_control_elsewhere() {
        for stack in REGISTRY {
            for control in congestion::NAMES {
                let expected = if (stack.name, *control) == ("linux", "cubic") { "hystart" } else { "standard" };
                let got = setup(stack.name, &[(CONTROL, control)]);
                assert_eq!(got.params().choice("slow_start"), expected, "{control} in {}", stack.name);
            }
        }
        assert_eq!(setup("linux", &[]).params().choice("slow_start"), "hystart");
    }

    #[test]
    fn what_is_said_holds_in_whatever_order() {
        let said = [("slow_start", "hystart"), (CONTROL, "reno")];
        let turned = [said[1], said[0]];
        for said in [said, turned] {
            assert_eq!(setup("linux", &said).params().choice("slow_start"), "hystart");
        }
        let standard = [("slow_start", "standard"), (CONTROL, "cubic")];
        assert_eq!(setup("linux", &standard).params().choice("slow_start"), "standard");
        // There and back.
        let back = [(CONTROL, "reno"), (CONTROL, "cubic")];
        assert_eq!(setup("linux", &back).params(), setup("linux", &[(CONTROL, "cubic")]).params());
    }

    /// The default of a control's parameter is its paper's; the stacks of Linux have Linux's, each a value that the parameter may have.
    #[test]
    fn linux_has_its_own_variants_of_controls() {
        let bic = |stack| setup(stack, &[(CONTROL, "bic")]).control().params.number("smax");
        assert_eq!((bic("rfc"), bic("linux")), (32.0, 16.0));
        assert!(!setup("rfc", &[(CONTROL, "highspeed")]).control().params.boolean("table"));
        assert!(setup("linux", &[(CONTROL, "highspeed")]).control().params.boolean("table"));
        for kind in congestion::REGISTRY {
            for (name, value) in kind.linux {
                let spec = kind.params.iter().find(|spec| spec.name == *name).unwrap_or_else(|| panic!("{} has no {name}", kind.name));
                assert!(spec.kind.write(*value).is_some() && spec.default != Some(*value), "{}: {name}", kind.name);
                assert!(spec.doc.contains("(Linux: "), "{}: {name} says nothing of Linux", kind.name);
            }
        }
    }

    /// Romanow and Floyd 1995 changed the clock of 4.3BSD-Tahoe and its first timeout, and no rule.
    #[test]
    fn the_tahoe_of_1995_differs_in_its_clock_and_acknowledgments_alone() {
        let [old, new] = ["bsd-tahoe-1988", "bsd-tahoe-1995"].map(|name| named(name).params());
        let differs: Vec<&str> = PARAMS.iter().map(|spec| spec.name).filter(|name| old.get(name) != new.get(name)).collect();
        assert_eq!(differs, ["delayed_ack", "slow_timer", "rto_initial", "rto_min"]);
    }

    #[test]
    fn versions_fill_what_is_not_said() {
        let mut old = setup("linux", &[]);
        old.set_kernel(&kernel::LINUX[0]);
        let (mut plain, mut told) = (window_sizing::choice("linux"), window_sizing::choice("linux"));
        told.params.set("rmem_max", Value::Bytes(64 << 20));
        old.fill(&mut told, &["rmem_max"]);
        assert_eq!((told.params.integer("rmem_max"), told.params.number("rmem_data")), (64 << 20, 0.5));
        setup("linux", &[]).fill(&mut plain, &[]);
        assert_eq!(plain.params.integer("rmem_max"), 32 << 20);
        // A control that no version says anything of.
        let mut reno = congestion::choice("reno");
        old.fill(&mut reno, &[]);
        assert_eq!(reno, congestion::choice("reno"));
    }

    #[test]
    fn stacks_name_parameters_and_controls_that_there_are() {
        for stack in REGISTRY {
            for (control, overrides) in stack.with_control {
                assert!(congestion::NAMES.contains(control), "{}: {control}", stack.name);
                // Else it would hang on itself.
                assert!(overrides.iter().all(|(name, _)| *name != CONTROL), "{}: {control}", stack.name);
            }
            let with_control = stack.with_control.iter().chain(stack.kernels.iter().flat_map(|kernel| kernel.with_control));
            let overrides = stack.overrides.iter().chain(stack.kernels.iter().flat_map(|kernel| kernel.overrides));
            let all = with_control.flat_map(|(_, overrides)| *overrides).chain(overrides);
            for (name, _) in all {
                assert!(PARAMS.iter().any(|spec| spec.name == *name), "{}: {name}", stack.name);
            }
        }
    }
}
