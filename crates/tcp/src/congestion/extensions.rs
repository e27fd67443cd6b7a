//! Congestion controls that are no part of longfat: added while the program runs, by whoever brings them. The registry finds them by
//! name as its own.

use std::sync::{PoisonError, RwLock};

use super::{ControlKind, REGISTRY};
use crate::congestion::agent::Policy;

/// A control that somebody brought.
#[derive(Clone, Copy)]
struct Extension {
    kind: &'static ControlKind,
    /// True if it can be built. A stored run may name a control that nobody has brought to this process.
    is_present: bool,
    /// Policy that it was made of, if it was.
    policy: Option<&'static Policy>,
}

static EXTENSIONS: RwLock<Vec<Extension>> = RwLock::new(Vec::new());

fn all() -> Vec<Extension> {
    EXTENSIONS.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds `kind`, in place of one of the same name. It stays for as long as the program runs. `false`: the registry has that name.
pub fn add(kind: ControlKind) -> bool {
    put(kind, true)
}

/// Makes a name known that a stored run has, so that the run can be read. It cannot be run again until somebody brings the control.
pub fn add_absent(name: &str, source: &str) {
    if super::find(name).is_some() {
        return;
    }
    put(
        ControlKind {
            name: leak(name),
            summary: "of a stored run; not in this process",
            source: leak(source),
            params: &[],
            linux: &[],
            ecn: super::EcnUse::CLASSIC,
            promises: &[],
            build: |config| panic!("{} is not in this process", config.congestion_control.kind),
        },
        false,
    );
}

fn put(kind: ControlKind, is_present: bool) -> bool {
    if REGISTRY.iter().any(|one| one.name == kind.name) {
        return false;
    }
    let kind: &'static ControlKind = Box::leak(Box::new(kind));
    let mut all = EXTENSIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.retain(|one| one.kind.name != kind.name);
    all.push(Extension { kind, is_present, policy: None });
    true
}

/// Gives the control `name` the policy that it was made of: where a kernel steers the flow, that decides.
pub fn give(name: &str, policy: Policy) {
    let policy: &'static Policy = Box::leak(Box::new(policy));
    let mut all = EXTENSIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.iter_mut().filter(|one| one.kind.name == name).for_each(|one| one.policy = Some(policy));
}

/// Returns the policy that the control `name` was made of, if it was.
pub fn policy(name: &str) -> Option<&'static Policy> {
    all().into_iter().find(|one| one.kind.name == name).and_then(|one| one.policy)
}

/// A text that stays for as long as the program runs: names of controls do.
pub fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The one called `name`.
pub fn find(name: &str) -> Option<&'static ControlKind> {
    all().into_iter().find(|one| one.kind.name == name).map(|one| one.kind)
}

/// Returns all extensions, in the order in which they came.
pub fn kinds() -> Vec<&'static ControlKind> {
    all().into_iter().map(|one| one.kind).collect()
}

/// Returns true if a stored run names the control `name` and nobody has brought it.
pub fn is_absent(name: &str) -> bool {
    all().iter().any(|one| one.kind.name == name && !one.is_present)
}
