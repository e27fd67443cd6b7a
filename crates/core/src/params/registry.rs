//! Registries: entries of a kind, by name. A module has its entries in `REGISTRY`, each with its `name`.

/// Adds to a `REGISTRY` of `$entry` the list of its names and the look-up by name. `$what` names an entry in messages. A test checks the
/// promises of all registries.
///
/// `with params` adds `choice`: an entry by name, with the defaults of its parameters. `and MORE` looks for names there that the registry
/// does not have.
#[macro_export]
macro_rules! by_name {
    ($entry:ty, $what:literal, with params $(, and $more:path)?) => {
        $crate::by_name!($entry, $what $(, and $more)?);

        /// Returns the entry `name`, with the defaults of its parameters.
        pub fn choice(name: &str) -> $crate::params::Choice {
            let entry = named(name);
            $crate::params::Choice { kind: entry.name, params: $crate::params::Params::defaults(entry.params) }
        }
    };
    ($entry:ty, $what:literal $(, and $more:path)?) => {
        /// Names in [`REGISTRY`].
        pub const NAMES: &[&str] = &{
            let mut names = [""; REGISTRY.len()];
            let mut i = 0;
            while i < names.len() {
                names[i] = REGISTRY[i].name;
                i += 1;
            }
            names
        };

        /// Returns the entry `name`, if there is one.
        pub fn find(name: &str) -> Option<&'static $entry> {
            let found = REGISTRY.iter().find(|entry| entry.name == name);
            $(let found = found.or_else(|| $more(name));)?
            found
        }

        /// Returns the entry `name`, which must exist. Panics if it does not.
        pub fn named(name: &str) -> &'static $entry {
            find(name).unwrap_or_else(|| panic!(concat!("no ", $what, " is called {}"), name))
        }

        #[cfg(test)]
        #[test]
        fn every_entry_has_a_name_of_its_own_a_summary_and_a_source() {
            for (i, entry) in REGISTRY.iter().enumerate() {
                assert!(REGISTRY[..i].iter().all(|other| other.name != entry.name), "{} twice", entry.name);
                $crate::params::check_entry(entry.name, entry.summary, entry.source);
            }
        }
    };
}

/// Asserts that a named entry has a summary and a source of one line each. For the tests of registries, in whatever crate they are.
pub fn check_entry(name: &str, summary: &str, source: &str) {
    for line in [summary, source] {
        assert!(!line.is_empty() && !line.contains('\n') && !line.ends_with('.'), "{name}: {line:?}");
    }
}
