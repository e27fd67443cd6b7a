//! Lists the controls: the kernel's, ours that are loaded, and ours that are not.

use crate::TWINS;
use std::fs;

/// File in which the kernel lists its controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Origin of a control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A control of the kernel, or of somebody else in it.
    Kernel,
    /// A control of our set that is loaded.
    Loaded,
    /// A control of our set that is not loaded.
    Set,
}

/// A control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Name for `TCP_CONGESTION`.
    pub name: String,
    /// Origin of the control.
    pub place: Place,
}

/// Returns every control that the kernel has now, and every control of the set.
pub fn list() -> Vec<Listed> {
    listed(&fs::read_to_string(AVAILABLE).unwrap_or_default())
}

fn listed(available: &str) -> Vec<Listed> {
    let ours = |name: &str| TWINS.iter().any(|twin| twin.kernel_name == name);
    let kernel = available.split_whitespace().filter(|name| !ours(name)).map(|name| (name, Place::Kernel));
    let set = TWINS.iter().map(|twin| {
        let is_loaded = available.split_whitespace().any(|name| name == twin.kernel_name);
        (twin.kernel_name, if is_loaded { Place::Loaded } else { Place::Set })
    });
    kernel.chain(set).map(|(name, place)| Listed { name: name.to_owned(), place }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_whose_each_is() {
        let all = listed("reno lf_scalable cubic\n");
        let of = |place| all.iter().filter(|one| one.place == place).map(|one| one.name.as_str()).collect::<Vec<_>>();
        assert_eq!(of(Place::Kernel), ["reno", "cubic"]);
        assert_eq!(of(Place::Loaded), ["lf_scalable"]);
        assert_eq!(of(Place::Set).len(), TWINS.len() - 1);
    }
}
