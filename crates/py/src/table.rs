//! A table under construction: of one run, or of many, one below the other.

use longfat_core::time::Time;
use longfat_record::trace::Recorded;
use longfat_record::trace::columns::{Column, Form, NONE};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::collections::HashMap;

/// The columns of a table, in order. Words are of the experiment or of the registries.
#[derive(Default)]
pub(crate) struct Table<'a> {
    columns: Vec<(&'static str, Cells<'a>)>,
}

enum Cells<'a> {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Words(Vec<Cow<'a, str>>),
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Cells::Integers(values) => values.len(),
            Cells::Numbers(values) => values.len(),
            Cells::Words(words) => words.len(),
        }
    }
}

impl<'a> Table<'a> {
    pub(crate) fn integers(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        let column = values.map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        self.columns.push((name, Cells::Integers(column)));
    }
    pub(crate) fn numbers(&mut self, name: &'static str, values: impl Iterator<Item = f64>) {
        self.columns.push((name, Cells::Numbers(values.collect())));
    }
    pub(crate) fn words(&mut self, name: &'static str, values: impl Iterator<Item = &'a str>) {
        self.columns.push((name, Cells::Words(values.map(Cow::Borrowed).collect())));
    }

    /// Adds the shown columns of `columns`.
    pub(crate) fn records<R: Clone + 'static>(&mut self, columns: &[Column<R>], rows: &(impl Recorded<R> + ?Sized)) {
        for column in columns.iter().filter(|column| column.is_shown) {
            let mut cells = Vec::with_capacity(rows.rows());
            rows.each_cell(column, &mut |some| cells.extend_from_slice(some));
            if column.is_rare && cells.iter().all(|cell| column.is_nothing(*cell)) {
                continue;
            }
            let cells = cells.into_iter();
            let or_nan = |cell: u64, value: fn(u64) -> f64| if cell == NONE { f64::NAN } else { value(cell) };
            match column.form {
                Form::Count => self.integers(column.name, cells),
                Form::CountOrNone => self.numbers(column.name, cells.map(|cell| or_nan(cell, |n| n as f64))),
                Form::Time => self.numbers(column.name, cells.map(|cell| or_nan(cell, |ps| Time::from_ps(ps).as_secs_f64()))),
                Form::Number => self.numbers(column.name, cells.map(f64::from_bits)),
                Form::Word(words) => self.words(column.name, cells.map(|cell| words()[cell as usize])),
                Form::Text => {
                    let mut texts = Vec::with_capacity(rows.rows());
                    (0..rows.pieces()).for_each(|i| texts.extend(rows.piece(i).iter().map(|row| Cow::Owned(column.text(row)))));
                    self.columns.push((column.name, Cells::Words(texts)));
                }
            }
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    pub(crate) fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, cells) in &self.columns {
            match cells {
                Cells::Integers(values) => dict.set_item(name, PyArray1::from_slice(py, values))?,
                Cells::Numbers(values) => dict.set_item(name, PyArray1::from_slice(py, values))?,
                Cells::Words(words) => dict.set_item(name, words)?,
            }
        }
        Ok(dict)
    }
}

/// Tables of many runs, one below the other. A column that a run does not have has no value in its rows: NaN, or no word.
#[derive(Default)]
pub(crate) struct Stack {
    columns: Vec<(&'static str, Stacked)>,
    rows: usize,
}

enum Stacked {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    /// The place of each word in the list of all; -1 for none.
    Words(Vec<i32>, HashMap<String, i32>),
}

impl Stack {
    pub(crate) fn push(&mut self, table: Table<'_>) {
        let rows = table.rows();
        for (expected, (name, cells)) in table.columns.into_iter().enumerate() {
            // Nearly all have the same columns.
            let place = match self.columns.get(expected) {
                Some((known, _)) if *known == name => Some(expected),
                _ => self.columns.iter().position(|(known, _)| *known == name),
            };
            let place = place.unwrap_or_else(|| {
                let column = match &cells {
                    Cells::Integers(_) => Stacked::Integers(Vec::new()),
                    Cells::Numbers(_) => Stacked::Numbers(Vec::new()),
                    Cells::Words(_) => Stacked::Words(Vec::new(), HashMap::new()),
                };
                self.columns.push((name, column));
                self.columns.len() - 1
            });
            let column = &mut self.columns[place].1;
            column.fill(self.rows);
            column.extend(cells);
        }
        self.rows += rows;
    }

    /// Returns an array by name. A column of words has the place of each word in a list, -1 for none, and that list.
    pub(crate) fn into_python(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, mut column) in self.columns.drain(..) {
            column.fill(self.rows);
            match column {
                Stacked::Integers(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                Stacked::Numbers(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                Stacked::Words(places, known) => {
                    let mut words = vec![""; known.len()];
                    known.iter().for_each(|(word, place)| words[*place as usize] = word);
                    dict.set_item(name, (PyArray1::from_vec(py, places), words))?;
                }
            }
        }
        Ok(dict)
    }
}

impl Stacked {
    /// Fills the column with no values up to row `rows`.
    fn fill(&mut self, rows: usize) {
        match self {
            Stacked::Integers(values) if values.len() < rows => {
                let mut numbers: Vec<f64> = values.iter().map(|n| *n as f64).collect();
                numbers.resize(rows, f64::NAN);
                *self = Stacked::Numbers(numbers);
            }
            Stacked::Integers(_) => {}
            Stacked::Numbers(values) => values.resize(rows, f64::NAN),
            Stacked::Words(places, _) => places.resize(rows, -1),
        }
    }

    fn extend(&mut self, cells: Cells<'_>) {
        match (self, cells) {
            (Stacked::Integers(values), Cells::Integers(more)) => values.extend(more),
            (Stacked::Numbers(values), Cells::Integers(more)) => values.extend(more.iter().map(|n| *n as f64)),
            (Stacked::Numbers(values), Cells::Numbers(more)) => values.extend(more),
            (Stacked::Words(places, known), Cells::Words(more)) => {
                for word in more {
                    let next = known.len() as i32;
                    let place = known.get(&*word).copied().unwrap_or_else(|| {
                        known.insert(word.into_owned(), next);
                        next
                    });
                    places.push(place);
                }
            }
            _ => unreachable!("a column is of one kind"),
        }
    }
}
