//! Reading a table that has been checked: values by name, with the defaults of its fields.

use super::error::Fault;
use super::shape::{Case, Field, Shape, Variants, read};
use super::tree::{Node, Step, Table, Tree, path_text};
use crate::params::{Params, Value};
use crate::time::Duration;

/// A table, the fields it may have, and where it stands.
pub struct View<'a> {
    pub node: &'a Node,
    pub path: Vec<Step>,
    fields: &'static [Field],
}

impl<'a> View<'a> {
    pub fn new(node: &'a Node, path: Vec<Step>, fields: &'static [Field]) -> Self {
        View { node, path, fields }
    }

    /// The table of one of `variants`, and which.
    pub fn variant(node: &'a Node, path: Vec<Step>, variants: &Variants) -> Result<(&'static str, Self), Fault> {
        let Case { name, fields, .. } = variants.case(node, &path)?;
        Ok((name, View { node, path, fields }))
    }

    fn table(&self) -> Option<&'a Table> {
        self.node.as_table()
    }

    /// The path of `name` here.
    pub fn path_of(&self, name: &str) -> Vec<Step> {
        let mut path = self.path.clone();
        path.push(Step::Key(name.to_owned()));
        path
    }

    /// What is written at `name`, if anything is.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        self.table().and_then(|t| t.get(name))
    }

    /// The table at `name`, if there is one.
    pub fn sub(&self, name: &str, fields: &'static [Field]) -> Option<View<'a>> {
        self.get(name).map(|node| View::new(node, self.path_of(name), fields))
    }

    /// The items of the array at `name`, each with its path; one that is not an array is its only item.
    pub fn items(&self, name: &str) -> Vec<(&'a Node, Vec<Step>)> {
        let path = self.path_of(name);
        match self.get(name) {
            None => Vec::new(),
            Some(Node { value: Tree::Array(items), .. }) => {
                items.iter().enumerate().map(|(i, item)| (item, path.iter().cloned().chain([Step::Index(i)]).collect())).collect()
            }
            Some(node) => vec![(node, path)],
        }
    }

    /// The value of the parameter `name`: as written, or its default.
    pub fn value(&self, name: &str) -> Result<Value, Fault> {
        let spec = match self.fields.iter().find(|f| f.name == name).map(|f| f.shape) {
            Some(Shape::Scalar(spec)) => spec,
            _ => panic!("no parameter {name}"),
        };
        match (self.get(name), spec.default) {
            (Some(node), _) => read(&spec, node, &self.path_of(name)),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.fault(name, format!("`{name}` is missing")).expected(spec.kind.expectation())),
        }
    }

    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Fault> {
        Ok(if let Value::Duration(d) = self.value(name)? { Some(d) } else { None })
    }

    /// A count or a size.
    pub fn integer(&self, name: &str) -> Result<Option<u64>, Fault> {
        Ok(if let Value::Count(n) | Value::Bytes(n) = self.value(name)? { Some(n) } else { None })
    }

    pub fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        Ok(if let Value::Number(x) = self.value(name)? { Some(x) } else { None })
    }

    pub fn boolean(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.value(name)? == Value::Bool(true))
    }

    pub fn word(&self, name: &str) -> Result<Option<&'static str>, Fault> {
        Ok(if let Value::Choice(word) = self.value(name)? { Some(word) } else { None })
    }

    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Node::as_text)
    }

    /// All parameters, in the order of the fields.
    pub fn params(&self) -> Result<Params, Fault> {
        self.fields.iter().map(|f| Ok((f.name, self.value(f.name)?))).collect::<Result<_, _>>().map(Params)
    }

    /// A fault that points at what is written at `name`, or at the table where nothing is.
    pub fn fault(&self, name: &str, message: impl Into<String>) -> Fault {
        match self.get(name) {
            Some(node) => {
                let fault = Fault::new(node.span, path_text(&self.path_of(name)), message);
                if matches!(node.value, Tree::Array(_) | Tree::Table(_)) { fault } else { fault.found(node.found()) }
            }
            None => Fault::new(self.node.span, path_text(&self.path), message),
        }
    }
}
