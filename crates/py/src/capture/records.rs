//! The records of a capture as Python's classes, whose attributes cannot be set. `longfat_capture::records` lists them.

use longfat_capture::records;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;

/// A value or a record that has an object of Python.
trait Shown {
    fn shown(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None()), |value| value.shown(py))
    }
}

/// A tuple: its items cannot be set.
impl<T: Shown> Shown for Vec<T> {
    fn shown(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let items = self.iter().map(|item| item.shown(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.into())
    }
}

macro_rules! values {
    ($($type:ty),*) => {
        $(impl Shown for $type {
            fn shown(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.into_py_any(py)
            }
        })*
    };
}
values!(bool, u8, u32, u64, usize, f64, String, &'static str, BTreeMap<&'static str, Option<f64>>);

/// A field in the representation of its record: values as they are, and the size or the class of everything larger.
fn brief(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.len() {
        Ok(length) if !value.is_instance_of::<pyo3::types::PyString>() => Ok(format!("<{length}>")),
        _ if value.get_type().module()? == "longfat._longfat" => Ok(format!("{}(...)", value.get_type().name()?)),
        _ => Ok(value.repr()?.to_string()),
    }
}

macro_rules! classes {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $about:literal])* $(#[serde($serde:meta)])? $field:ident: $type:ty,)* })*) => {
        $(
            $(#[doc = $doc])*
            #[pyclass(module = "longfat._longfat", frozen, get_all)]
            pub struct $name {
                $($(#[doc = $about])* $field: Py<PyAny>,)*
            }

            impl Shown for longfat_capture::records::$name {
                fn shown(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                    $name { $($field: self.$field.shown(py)?,)* }.into_py_any(py)
                }
            }

            #[pymethods]
            impl $name {
                fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                    let fields = [$(format!("{}={}", stringify!($field), brief(self.$field.bind(py))?)),*];
                    Ok(format!("{}({})", stringify!($name), fields.join(", ")))
                }
            }
        )*

        /// Adds the classes to the module.
        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$name>()?;)*
            module.add_class::<Capture>()
        }
    };
}
records!(classes);

/// One or more captures read as one.
#[pyclass(module = "longfat._longfat", frozen)]
pub struct Capture {
    record: longfat_capture::records::Capture,
    connections: PyOnceLock<Py<PyAny>>,
}

impl Capture {
    pub fn new(record: longfat_capture::records::Capture) -> Self {
        Capture { record, connections: PyOnceLock::new() }
    }
}

#[pymethods]
impl Capture {
    /// Connections by number.
    #[getter]
    fn connections(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        self.connections.get_or_try_init(py, || self.record.connections.shown(py))
    }

    /// Files, in the order given.
    #[getter]
    fn files(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.record.files.shown(py)
    }

    /// Connections that were not kept.
    #[getter]
    fn left_out(&self) -> u64 {
        self.record.left_out
    }

    /// Payload of the connections that were not kept.
    #[getter]
    fn left_out_bytes(&self) -> u64 {
        self.record.left_out_bytes
    }

    /// Time of the first packet, in s since 1970.
    #[getter]
    fn start_s(&self) -> Option<f64> {
        self.record.start_s
    }

    /// Time from the first packet to the last.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.record.duration_s
    }

    /// Returns all of it as JSON.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.record.json())
    }

    fn __repr__(&self) -> String {
        let record = &self.record;
        format!("Capture(connections=<{}>, files=<{}>, duration_s={})", record.connections.len(), record.files.len(), record.duration_s)
    }
}
