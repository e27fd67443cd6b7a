//! Values that are entries or tables themselves: a queue inside another, the classes of a queue.

use super::{Choice, ParamSpec, Params};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Keys that a table may have: a static, identified by its address. They may lead to tables of the same keys.
#[derive(Clone, Copy)]
pub struct Keys(pub &'static [ParamSpec]);

impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|spec| spec.name)).finish()
    }
}

/// A value of any size that is as easy to copy as a number. Equal values are kept once, and each stays for good: there are as many as
/// experiments have different values.
#[derive(PartialEq, Debug)]
pub struct Kept<T: 'static>(&'static T);

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Kept<T> {}

impl<T> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> Kept<Vec<T>> {
    /// Returns the tables, or the names.
    pub fn all(self) -> &'static [T] {
        self.0
    }
}

/// Kept values by their `Debug` text.
type All<T> = Mutex<BTreeMap<String, &'static T>>;

fn keep<T: Debug>(value: T, all: &All<T>) -> Kept<T> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    Kept(all.entry(format!("{value:?}")).or_insert_with(|| Box::leak(Box::new(value))))
}

impl From<Choice> for Kept<Choice> {
    fn from(choice: Choice) -> Self {
        static ALL: All<Choice> = Mutex::new(BTreeMap::new());
        keep(choice, &ALL)
    }
}

impl From<Vec<String>> for Kept<Vec<String>> {
    fn from(names: Vec<String>) -> Self {
        static ALL: All<Vec<String>> = Mutex::new(BTreeMap::new());
        keep(names, &ALL)
    }
}

impl From<Vec<Params>> for Kept<Vec<Params>> {
    fn from(tables: Vec<Params>) -> Self {
        static ALL: All<Vec<Params>> = Mutex::new(BTreeMap::new());
        keep(tables, &ALL)
    }
}
