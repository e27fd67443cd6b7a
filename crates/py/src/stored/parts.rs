//! The tables of a trace as they are stored.

use crate::visit::Visit;
use longfat_record::trace::Recorded;
use longfat_record::trace::columns::{Column, Form};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sha2::{Digest, Sha256};

/// Visitor that returns all of a table, as arrays.
pub(super) struct Whole<'py>(pub Python<'py>);

impl<'py> Visit for Whole<'py> {
    type Out = PyResult<Bound<'py, PyDict>>;
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Self::Out {
        whole(self.0, columns, rows)
    }
}

pub(super) fn whole<'py, R: Clone + 'static>(
    py: Python<'py>,
    columns: &[Column<R>],
    rows: &(impl Recorded<R> + ?Sized),
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in columns.iter().filter(|column| column.is_stored()) {
        let mut cells = Vec::with_capacity(rows.rows());
        rows.each_cell(column, &mut |some| cells.extend_from_slice(some));
        let name = column.stored_name();
        match column.form {
            Form::Number => dict.set_item(name, PyArray1::from_vec(py, cells.into_iter().map(f64::from_bits).collect()))?,
            Form::Word(words) => dict.set_item(name, cells.into_iter().map(|cell| words()[cell as usize]).collect::<Vec<_>>())?,
            Form::Count | Form::CountOrNone | Form::Time | Form::Text => dict.set_item(name, PyArray1::from_vec(py, cells))?,
        }
    }
    Ok(dict)
}

/// Visitor that counts the cells of a table.
pub(super) struct Size;

impl Visit for Size {
    type Out = usize;
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> usize {
        rows.rows() * columns.len()
    }
}

/// Visitor that counts the rows and pieces of a table.
pub(super) struct Pieces;

impl Visit for Pieces {
    type Out = (usize, usize);
    fn table<R: Clone + 'static>(self, _: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Self::Out {
        (rows.rows(), rows.pieces())
    }
}

/// A table goes into a digest, however many rows it has.
pub(super) struct Digested<'a>(pub &'a str, pub &'a mut Sha256);

impl Visit for Digested<'_> {
    type Out = ();
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) {
        let Digested(name, digest) = self;
        for column in columns.iter().filter(|column| column.is_stored() && rows.rows() > 0) {
            digest.update(format!("{name}.{} {}\n", column.stored_name(), rows.rows()));
            each_bytes(column, rows, &mut |bytes| digest.update(bytes));
        }
    }
}

/// `each` is given the cells of a column as bytes, some at a time: words with a NUL between two.
fn each_bytes<R: Clone + 'static>(column: &Column<R>, rows: &(impl Recorded<R> + ?Sized), each: &mut dyn FnMut(&[u8])) {
    let mut is_first = true;
    rows.each_cell(column, &mut |cells| match column.form {
        Form::Word(words) => {
            for cell in cells {
                each(if is_first { b"" } else { b"\0" });
                each(words()[*cell as usize].as_bytes());
                is_first = false;
            }
        }
        _ => each(&cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>()),
    });
}

/// A table as bytes: a piece of it, by its number, or all of it.
pub(super) struct ToBytes {
    pub piece: Option<usize>,
}

/// Rows as bytes.
pub(super) struct Part {
    pub rows: usize,
    /// Cells of the columns that are not of words, one column behind the other.
    numbers: Vec<u8>,
    /// Cells of each column of words, with a NUL between two.
    words: Vec<Vec<u8>>,
}

/// Part in Python.
pub(super) type InBytes<'py> = (usize, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

impl Visit for ToBytes {
    type Out = Part;
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Part {
        match self.piece {
            Some(number) => Part::of(columns, &rows.piece(number)[..]),
            None => Part::of(columns, rows),
        }
    }
}

impl Part {
    fn of<R: Clone + 'static>(columns: &[Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Self {
        let mut part = Part { rows: rows.rows(), numbers: Vec::new(), words: Vec::new() };
        for column in columns.iter().filter(|column| column.is_stored() && rows.rows() > 0) {
            let mut words = Vec::new();
            let is_word = matches!(column.form, Form::Word(_));
            let bytes = if is_word { &mut words } else { &mut part.numbers };
            each_bytes(column, rows, &mut |some| bytes.extend_from_slice(some));
            part.words.extend(is_word.then_some(words));
        }
        part
    }

    pub(super) fn to_python<'py>(&self, py: Python<'py>) -> InBytes<'py> {
        (self.rows, PyBytes::new(py, &self.numbers), self.words.iter().map(|words| PyBytes::new(py, words)).collect())
    }
}

pub(crate) fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
