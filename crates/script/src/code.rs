//! Code between `%{` and `}%`: statements in a small part of Python, with an evaluator of our own.
//!
//! `assert expression[, message]`, `print(...)`, `name = expression`; arithmetic, comparisons (chained too), `and or not in`,
//! `abs min max round int float len`. Nothing else of Python, and nothing that could reach out of the script.

mod eval;
mod parse;
mod words;

pub(crate) use eval::{Stop, Value, Variables, run};
pub(crate) use parse::parse;

use crate::place::Place;

/// One statement, with its place and its text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Statement {
    pub place: Place,
    pub text: String,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    Assert(Expr, Option<Expr>),
    Print(Vec<Expr>),
    Assign(String, Expr),
    /// Python, but not of the part that is here: what.
    Unsupported(String),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Literal(Value),
    Name(String),
    List(Vec<Expr>),
    Unary(&'static str, Box<Expr>),
    /// `a + b - c`, from left to right: the first, and each operator with what follows it. However long, it is not deep.
    Chain(Box<Expr>, Vec<(&'static str, Expr)>),
    /// `a < b <= c`: the first, and each operator with what follows it.
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    Call(String, Vec<Expr>),
}
