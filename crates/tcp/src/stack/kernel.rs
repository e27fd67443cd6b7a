//! Versions of Linux: where documented rules differ from one to the next. docs/stacks/linux.md has them as a table, with what is not modelled.

use super::Overrides;
use longfat_core::params::Value;

/// A version of a stack.
#[derive(Debug)]
pub struct Kernel {
    /// Name, as the key `kernel` spells it.
    pub name: &'static str,
    /// Differences from the stack in parameters of TCP.
    pub overrides: Overrides,
    /// Differences while the control of this name is in use.
    pub with_control: &'static [(&'static str, Overrides)],
    /// Parameters of congestion controls and of window sizings, by the name of each.
    pub of_kind: &'static [(&'static str, Overrides)],
}

impl Kernel {
    /// Returns the differences in the parameters of `kind`, a control or a window sizing.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &'static (&'static str, Value)> {
        self.of_kind.iter().filter(move |(name, _)| *name == kind).flat_map(|(_, overrides)| *overrides)
    }
}

/// ip-sysctl, `tcp_rmem`: the most is 6 MiB; 32 MiB since the change `tcp: increase tcp_rmem[2] to 32 MB` (May 2025, released with 6.16), and as
/// `sysctl net.ipv4.tcp_rmem` says on 6.18.
const RMEM_BEFORE_6_16: (&str, Value) = ("rmem_max", Value::Bytes(6 << 20));
const RMEM_SINCE_6_16: (&str, Value) = ("rmem_max", Value::Bytes(32 << 20));

/// ip-sysctl, `tcp_adv_win_scale` = 1: half of a receive buffer is data; obsolete since 6.6, by the change "tcp: get rid of
/// sysctl_tcp_adv_win_scale" (2023).
const SHARE_BEFORE_6_6: (&str, Value) = ("rmem_data", Value::Number(0.5));

/// ip-sysctl, `tcp_syn_linear_timeouts` = 4, which came with 6.5; measured on 6.18.
const SYN_SINCE_6_5: Overrides = &[("syn_linear_timeouts", Value::Count(4))];

/// Versions of the stack `linux`.
pub(super) const LINUX: &[Kernel] = &[
    Kernel {
        name: "4.19",
        overrides: &[],
        // The change "tcp_cubic: refine Hystart delay threshold" (December 2019, released with 5.6): 6.25 % before, 12.5 % since.
        with_control: &[("cubic", &[("hystart_divisor", Value::Count(16))])],
        of_kind: &[
            // The change "tcp_bbr: adapt cwnd based on ack aggregation estimation" (January 2019, released with 5.1).
            ("bbr", &[("extra_acked", Value::Bool(false))]),
            // ip-sysctl of 4.19, `tcp_rmem`: 87,380 bytes at first. The change "tcp: up initial rmem to 128KB and SYN rwin to around 64KB" (2018,
            // released with 4.20) gives 131,072.
            ("linux", &[RMEM_BEFORE_6_16, SHARE_BEFORE_6_6, ("rmem_default", Value::Bytes(87_380))]),
        ],
    },
    Kernel { name: "5.15", overrides: &[], with_control: &[], of_kind: &[("linux", &[RMEM_BEFORE_6_16, SHARE_BEFORE_6_6])] },
    Kernel { name: "6.1", overrides: &[], with_control: &[], of_kind: &[("linux", &[RMEM_BEFORE_6_16, SHARE_BEFORE_6_6])] },
    Kernel { name: "6.6", overrides: SYN_SINCE_6_5, with_control: &[], of_kind: &[("linux", &[RMEM_BEFORE_6_16])] },
    Kernel { name: "6.18", overrides: SYN_SINCE_6_5, with_control: &[], of_kind: &[("linux", &[RMEM_SINCE_6_16])] },
];

/// The names of all versions.
pub const NAMES: &[&str] = &{
    let mut names = [""; LINUX.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = LINUX[i].name;
        i += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{congestion, window_sizing};
    use longfat_core::params::ParamSpec;

    fn params(kind: &str) -> &'static [ParamSpec] {
        congestion::find(kind).map_or_else(|| window_sizing::named(kind).params, |kind| kind.params)
    }

    /// Differences of each version are parameters that there are, and within their ranges. No control has the name of a window sizing.
    #[test]
    fn versions_name_kinds_and_parameters_that_there_are() {
        for kernel in LINUX {
            for (kind, overrides) in kernel.of_kind {
                assert!(congestion::find(kind).is_none() || window_sizing::find(kind).is_none(), "{kind}");
                for (name, value) in *overrides {
                    let spec =
                        params(kind).iter().find(|spec| spec.name == *name).unwrap_or_else(|| panic!("{}: {kind}.{name}", kernel.name));
                    assert!(spec.kind.write(*value).is_some(), "{}: {kind}.{name}", kernel.name);
                }
            }
        }
    }
}
