//! Reading a table that has been checked: values by name, with the defaults of its fields.

use super::error::Fault;
use super::files::Files;
use super::shape::{Case, Field, QUEUE, Shape, Variants, distribution, fields_of, read};
use super::tree::{Node, Step, Table, Tree, path_text};
use longfat_core::params::{Choice, Kept, Kind, ParamSpec, Params, Value};
use longfat_core::time::Duration;
use longfat_model::When;
use std::borrow::Cow;

/// A node of the file, where it stands, and the files that it may name.
#[derive(Clone)]
pub(crate) struct Written<'a> {
    pub node: &'a Node,
    pub path: Vec<Step>,
    pub files: &'a dyn Files,
}

impl<'a> Written<'a> {
    /// Returns which of `variants` it is, and its table.
    pub(crate) fn variant(&self, variants: &Variants) -> Result<(&'static str, View<'a>), Fault> {
        let Case { name, fields, .. } = variants.case(self.node, &self.path)?;
        Ok((name, View::new(self.clone(), fields.as_slice())))
    }

    /// Returns the choice at `variants`, whose fields are the parameters of a registry's entry.
    pub(crate) fn choice(&self, variants: &Variants) -> Result<Choice, Fault> {
        let (kind, view) = self.variant(variants)?;
        Ok(Choice { kind, params: view.params()? })
    }

    /// A fault that points here.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.node.span, path_text(&self.path), message)
    }
}

/// A table, and the fields it may have.
pub(crate) struct View<'a> {
    pub at: Written<'a>,
    fields: Cow<'static, [Field]>,
}

impl<'a> View<'a> {
    pub(crate) fn new(at: Written<'a>, fields: impl Into<Cow<'static, [Field]>>) -> Self {
        View { at, fields: fields.into() }
    }

    fn table(&self) -> Option<&'a Table> {
        self.at.node.as_table()
    }

    /// The path of `name` here.
    fn path_of(&self, name: &str) -> Vec<Step> {
        let mut path = self.at.path.clone();
        path.push(Step::Key(name.to_owned()));
        path
    }

    /// Returns the value written at `name`, if any.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        self.table().and_then(|t| t.get(name))
    }

    /// Returns the value written at `name`, if any, and its place.
    pub(crate) fn written(&self, name: &str) -> Option<Written<'a>> {
        self.get(name).map(|node| Written { node, path: self.path_of(name), files: self.at.files })
    }

    /// The table at `name`, if there is one.
    pub(crate) fn sub(&self, name: &str, fields: &'static [Field]) -> Option<View<'a>> {
        self.written(name).map(|at| View::new(at, fields))
    }

    /// Returns the items of the array at `name`; a value that is not an array is its only item.
    pub(crate) fn items(&self, name: &str) -> Vec<Written<'a>> {
        match self.written(name) {
            None => Vec::new(),
            Some(Written { node: Node { value: Tree::Array(items), .. }, path, files }) => {
                let place = |i| path.iter().cloned().chain([Step::Index(i)]).collect();
                items.iter().enumerate().map(|(i, node)| Written { node, path: place(i), files }).collect()
            }
            Some(only) => vec![only],
        }
    }

    /// The value of the parameter `name`: as written, or its default.
    pub(crate) fn value(&self, name: &str) -> Result<Value, Fault> {
        let spec = match self.fields.iter().find(|f| f.name == name).map(|f| f.shape) {
            Some(Shape::Scalar(spec) | Shape::Drawn(spec)) => spec,
            _ => panic!("no parameter {name}"),
        };
        match (self.get(name), spec.default) {
            (Some(_), _) => self.read(&spec),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.fault(name, format!("`{name}` is missing")).expected(spec.kind.expectation())),
        }
    }

    /// Returns the kind of the parameter `name`.
    pub(crate) fn kind(&self, name: &str) -> Kind {
        match self.fields.iter().find(|f| f.name == name).map(|f| f.shape) {
            Some(Shape::Scalar(spec) | Shape::Drawn(spec)) => spec.kind,
            _ => panic!("no parameter {name}"),
        }
    }

    /// Reads the value written for the parameter `spec`.
    fn read(&self, spec: &ParamSpec) -> Result<Value, Fault> {
        let at = self.written(spec.name).expect("it is written");
        match spec.kind {
            _ if at.node.as_text() == Some("auto") => read(spec, at.node, &at.path),
            Kind::Queue => Ok(Value::Queue(Kept::from(at.choice(&QUEUE)?))),
            Kind::Tables(keys) => {
                let table = |at| View::new(at, fields_of(keys.0)).params();
                let tables = self.items(spec.name).into_iter().map(table).collect::<Result<Vec<Params>, Fault>>()?;
                Ok(Value::Tables(Kept::from(tables)))
            }
            Kind::Names(_) => {
                let names = self.items(spec.name).into_iter().map(|at| at.node.as_text().unwrap_or_default().to_owned());
                Ok(Value::Names(Kept::from(names.collect::<Vec<_>>())))
            }
            _ => read(spec, at.node, &at.path),
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>, Fault> {
        Ok(if let Value::Duration(d) = self.value(name)? { Some(d) } else { None })
    }

    /// A time, or how it is drawn.
    pub(crate) fn when(&self, name: &str) -> Result<When, Fault> {
        match self.get(name) {
            Some(node) if node.as_table().is_some() => distribution(node, &self.path_of(name)).map(When::Random),
            _ => Ok(When::At(self.duration(name)?.unwrap_or_default())),
        }
    }

    /// A count or a size.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<u64>, Fault> {
        Ok(if let Value::Count(n) | Value::Bytes(n) = self.value(name)? { Some(n) } else { None })
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        Ok(if let Value::Number(x) = self.value(name)? { Some(x) } else { None })
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.value(name)? == Value::Bool(true))
    }

    pub(crate) fn word(&self, name: &str) -> Result<Option<&'static str>, Fault> {
        Ok(if let Value::Choice(word) = self.value(name)? { Some(word) } else { None })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Node::as_text)
    }

    /// Returns all parameters, in the order of the fields. (A text beside them is none.)
    pub(crate) fn params(&self) -> Result<Params, Fault> {
        let params = self.fields.iter().filter(|field| matches!(field.shape, Shape::Scalar(_)));
        params.map(|f| Ok((f.name, self.value(f.name)?))).collect::<Result<_, _>>().map(Params)
    }

    /// Makes a fault that points at the value at `name`, or at the table if there is none.
    pub(crate) fn fault(&self, name: &str, message: impl Into<String>) -> Fault {
        match self.written(name) {
            Some(at) => {
                let fault = at.fault(message);
                if matches!(at.node.value, Tree::Array(_) | Tree::Table(_)) { fault } else { fault.found(at.node.found()) }
            }
            None => self.at.fault(message),
        }
    }
}
