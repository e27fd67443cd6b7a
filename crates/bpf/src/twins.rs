//! The registry of twins.

use crate::Error;
use std::fmt;

use longfat_tcp::congestion::{self, ControlKind};

/// A control of the core that also exists for the kernel.
pub struct Twin {
    /// Name in the core's registry.
    pub name: &'static str,
    /// Name in the kernel: `TCP_CONGESTION`, `ss`, `sysctl`. It has a prefix, so that it can stand beside the kernel's own control of that
    /// name: a module of the same name would be refused, or refuse ours. And `ss` shows which one it is.
    pub kernel_name: &'static str,
    /// Linux's own control of that kind, as `TCP_CONGESTION` names it; its module is `tcp_` and this. None: Linux has none.
    pub linux: Option<&'static str>,
    /// Compiled program.
    #[cfg(feature = "bpf")]
    pub(crate) object: &'static [u8],
}

impl Twin {
    /// Returns the control in the core.
    pub fn core(&self) -> &'static ControlKind {
        congestion::named(self.name)
    }
}

impl fmt::Debug for Twin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel_name)
    }
}

/// `TCP_CA_NAME_MAX`, with its final zero.
const NAME_MAX: usize = 16;

macro_rules! twins {
    ($($name:literal $(= $linux:literal)?),*) => {
        &[$({
            let kernel_name = concat!("lf_", $name);
            assert!(kernel_name.len() < NAME_MAX);
            Twin {
                name: $name,
                kernel_name,
                linux: twins!(@linux $($linux)?),
                #[cfg(feature = "bpf")]
                object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
            }
        }),*]
    };
    (@linux) => { None };
    (@linux $linux:literal) => { Some($linux) };
}

/// Every twin, in the order of the core's registry.
pub const TWINS: &[Twin] = twins![
    "scalable" = "scalable",
    "highspeed" = "highspeed",
    "htcp" = "htcp",
    "bic" = "bic",
    "hybla" = "hybla",
    "westwood" = "westwood",
    "illinois" = "illinois",
    "vegas" = "vegas",
    "fast",
    "yeah" = "yeah",
    "compound",
    "tcp_lp" = "lp",
    "hstcp_lp"
];

/// Returns the twin of that name, the core's or the kernel's.
pub fn find(name: &str) -> Result<&'static Twin, Error> {
    TWINS.iter().find(|twin| twin.name == name || twin.kernel_name == name).ok_or_else(|| {
        let nearest = TWINS.iter().map(|twin| twin.name).min_by_key(|known| strsim::levenshtein(known, name));
        Error::Unknown { name: name.to_owned(), nearest: nearest.expect("there are twins") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_twin_has_a_core_and_they_stand_in_its_order() {
        let place = |twin: &Twin| congestion::NAMES.iter().position(|name| *name == twin.name).expect("a core");
        assert!(TWINS.is_sorted_by_key(place));
    }

    #[test]
    fn is_found_by_either_name_and_a_wrong_one_is_told_the_nearest() {
        assert_eq!(find("lf_scalable").unwrap().name, "scalable");
        let Err(error) = find("scalabel") else { panic!("found") };
        assert_eq!(error.to_string(), "no control of the BPF set is called `scalabel`; did you mean `scalable`?");
    }
}
