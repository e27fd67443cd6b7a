//! Places where keys are right, for a key in the wrong table.

use super::root;
use crate::shape::{Field, QUEUE, Shape, Variants, fields_of};
use longfat_core::params::{Kind, ParamSpec};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// Places that are told of one key, and variants of each, at most.
const MOST: usize = 3;

/// Tables that may have a key.
#[derive(Clone, PartialEq, Eq)]
struct Place {
    /// The keys that lead to them, from the root.
    keys: Vec<&'static str>,
    /// Key that names the variant, and its values, if they are variants.
    case: Option<(&'static str, Vec<&'static str>)>,
}

/// Returns a hint for `key`, which the table at the keys `here` does not have: the nearest places where it is right.
pub(super) fn hint(key: &str, here: &[String]) -> Option<String> {
    static PLACES: LazyLock<BTreeMap<&str, Vec<Place>>> = LazyLock::new(all);
    let shared = |place: &Place| place.keys.iter().zip(here).take_while(|(a, b)| *a == b).count();
    let places = PLACES.get(key)?;
    let nearest = places.iter().map(shared).max()?;
    let mut places: Vec<&Place> = places.iter().filter(|place| shared(place) == nearest).collect();
    places.sort_by_key(|place| place.keys.len());
    let told: Vec<String> = places.iter().take(MOST).map(ToString::to_string).collect();
    let more = if places.len() > MOST { ", and elsewhere" } else { "" };
    Some(format!("`{key}` is a key of {}{more}", told.join(", of ")))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.keys.is_empty() {
            return f.write_str("the file itself");
        }
        write!(f, "`{}`", self.keys.join("."))?;
        let Some((tag, words)) = &self.case else { return Ok(()) };
        let told: Vec<String> = words.iter().take(MOST).map(|word| format!("\"{word}\"")).collect();
        write!(f, " with {tag} = {}{}", told.join(" or "), if words.len() > MOST { ", and others" } else { "" })
    }
}

/// Returns each key, with all places where it is right.
fn all() -> BTreeMap<&'static str, Vec<Place>> {
    let mut found = Found::default();
    found.table(root(), &Place { keys: vec![], case: None });
    found.places
}

#[derive(Default)]
struct Found {
    places: BTreeMap<&'static str, Vec<Place>>,
    /// The tables that lead here: queues are in queues, and classes in classes.
    above: Vec<*const ()>,
}

impl Found {
    fn table(&mut self, fields: &[Field], place: &Place) {
        for field in fields {
            self.add(field.name, place);
            let keys = place.keys.iter().copied().chain([field.name]).collect();
            self.shape(&field.shape, keys);
        }
    }

    fn add(&mut self, key: &'static str, place: &Place) {
        let places = self.places.entry(key).or_default();
        match (places.iter_mut().find(|known| known.keys == place.keys), &place.case) {
            (Some(Place { case: Some((_, known)), .. }), Some((_, words))) => {
                known.extend(words.iter().filter(|word| !known.contains(word)).copied().collect::<Vec<_>>());
            }
            (Some(_), _) => {}
            (None, _) => places.push(place.clone()),
        }
    }

    fn shape(&mut self, shape: &Shape, keys: Vec<&'static str>) {
        match shape {
            Shape::Table(fields) => self.table(fields(), &Place { keys, case: None }),
            Shape::List(shape) => self.shape(shape, keys),
            Shape::Variants(variants) => self.variants(variants, keys),
            Shape::Scalar(ParamSpec { kind: Kind::Queue, .. }) => self.variants(&QUEUE, keys),
            Shape::Scalar(ParamSpec { kind: Kind::Tables(specs), .. }) => {
                self.once(specs.0.as_ptr().cast(), |found| found.table(&fields_of(specs.0), &Place { keys, case: None }));
            }
            _ => {}
        }
    }

    fn variants(&mut self, variants: &'static Variants, keys: Vec<&'static str>) {
        self.once(std::ptr::from_ref(variants).cast(), |found| {
            for case in (variants.cases)() {
                found.table(&case.fields, &Place { keys: keys.clone(), case: Some((variants.tag, vec![case.name])) });
            }
        });
    }

    /// Enters a table, unless it is in it already.
    fn once(&mut self, table: *const (), go: impl FnOnce(&mut Self)) {
        if !self.above.contains(&table) {
            self.above.push(table);
            go(self);
            self.above.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &[&str]) -> Vec<String> {
        path.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn the_nearest_places_are_told() {
        assert_eq!(hint("volume", &at(&["flow"])).unwrap(), "`volume` is a key of `flow.traffic` with kind = \"ttcp\" or \"fetch\"");
        assert_eq!(hint("duration", &at(&[])).unwrap(), "`duration` is a key of `measure`");
        assert_eq!(hint("repeats", &at(&["measure"])).unwrap(), "`repeats` is a key of the file itself");
        assert_eq!(hint("hosts", &at(&["path"])).unwrap(), "`hosts` is a key of `path` with preset = \"explicit\"");
        let wash = hint("wash", &at(&["path", "bottleneck"])).unwrap();
        assert_eq!(
            wash,
            "`wash` is a key of `path.bottleneck.queue` with kind = \"cake\", of `path.bottleneck.reverse.queue` with kind = \"cake\""
        );
        let limit = hint("limit", &at(&["path", "bottleneck"])).unwrap();
        assert!(limit.contains("\", and others, of `path.bottleneck.reverse.queue`"), "{limit}");
        assert_eq!(hint("no_such_key", &[]), None);
    }

    #[test]
    fn every_place_is_one_that_a_file_may_have() {
        let all = all();
        // Each key that leads to a place is itself a key of the place above it.
        for place in all.values().flatten() {
            for (i, key) in place.keys.iter().enumerate() {
                assert!(all[key].iter().any(|above| above.keys == place.keys[..i]), "{place}");
            }
        }
    }
}
