//! Evaluation of statements.

use super::parse::DEEPEST;
use super::{Expr, Kind, Statement};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

/// Reason for an early end of the evaluation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stop {
    /// The statement does not hold, or makes no sense: the reason.
    Fail(String),
    /// The expression needs something that is not supported.
    Unsupported(String),
}

/// Values that blocks have assigned so far.
pub(crate) type Variables = BTreeMap<String, Value>;

/// Runs one statement; returns the text that it prints, if any. `lookup` knows the names that are not variables: `None` for an unknown
/// name, `Err` for a known name without a value here.
pub(crate) fn run(
    statement: &Statement,
    variables: &mut Variables,
    lookup: &dyn Fn(&str) -> Option<Result<Value, String>>,
) -> Result<Option<String>, Stop> {
    let mut scope = Scope { variables, lookup, seen: BTreeMap::new() };
    match &statement.kind {
        Kind::Unsupported(what) => Err(Stop::Unsupported(what.clone())),
        Kind::Assign(name, expr) => {
            let value = scope.eval(expr)?;
            variables.insert(name.clone(), value);
            Ok(None)
        }
        Kind::Print(all) => {
            let all = all.iter().map(|e| scope.eval(e)).collect::<Result<Vec<_>, _>>()?;
            Ok(Some(all.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")))
        }
        Kind::Assert(condition, message) => {
            if scope.eval(condition)?.truth() {
                return Ok(None);
            }
            let seen: Vec<String> = scope.seen.iter().map(|(name, value)| format!("{name} is {value}")).collect();
            let mut text = format!("{} does not hold", statement.text);
            if !seen.is_empty() {
                text += &format!(": {}", seen.join(", "));
            }
            if let Some(message) = message {
                text += &format!(" ({})", scope.eval(message)?);
            }
            Err(Stop::Fail(text))
        }
    }
}

/// Values that a list may hold, with all that is in its lists.
const LARGEST: usize = 100_000;

struct Scope<'a> {
    variables: &'a Variables,
    lookup: &'a dyn Fn(&str) -> Option<Result<Value, String>>,
    /// The names that were asked for: an assertion that fails shows them.
    seen: BTreeMap<String, Value>,
}

fn fail<T>(text: String) -> Result<T, Stop> {
    Err(Stop::Fail(text))
}

impl Scope<'_> {
    fn eval(&mut self, expr: &Expr) -> Result<Value, Stop> {
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Name(name) => self.name(name),
            Expr::List(all) => {
                let all = Value::List(all.iter().map(|e| self.eval(e)).collect::<Result<_, _>>()?);
                // A variable's value may be put into a list again and again.
                match all.extent() {
                    (depth, _) if depth > DEEPEST => fail(format!("lists are nested more than {DEEPEST} deep")),
                    (_, size) if size > LARGEST => fail(format!("a list holds more than {LARGEST} values")),
                    _ => Ok(all),
                }
            }
            Expr::Unary(operator, inner) => {
                let value = self.eval(inner)?;
                match (*operator, value.number()) {
                    ("not", _) => Ok(Value::Bool(!value.truth())),
                    ("-", Some(Value::Int(n))) => n.checked_neg().map(Value::Int).ok_or_else(too_large),
                    ("-", Some(Value::Float(x))) => Ok(Value::Float(-x)),
                    ("~", Some(Value::Int(n))) => Ok(Value::Int(!n)),
                    ("+", Some(number)) => Ok(number),
                    _ => fail(format!("`{operator}` needs a number, and {value} is none")),
                }
            }
            Expr::Chain(first, rest) => {
                let mut left = self.eval(first)?;
                for (operator, right) in rest {
                    left = match *operator {
                        "and" if !left.truth() => left,
                        "or" if left.truth() => left,
                        "and" | "or" => self.eval(right)?,
                        _ => arithmetic(operator, &left, &self.eval(right)?)?,
                    };
                }
                Ok(left)
            }
            Expr::Compare(first, rest) => {
                let mut left = self.eval(first)?;
                for (operator, right) in rest {
                    let right = self.eval(right)?;
                    if !compare(operator, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            Expr::Call(name, arguments) => {
                let arguments = arguments.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
                call(name, arguments)
            }
        }
    }

    fn name(&mut self, name: &str) -> Result<Value, Stop> {
        let value = match (self.variables.get(name), (self.lookup)(name)) {
            (Some(value), _) => value.clone(),
            (None, Some(Ok(value))) => value,
            (None, Some(Err(why))) => return Err(Stop::Unsupported(why)),
            (None, None) => return Err(Stop::Unsupported(format!("the name `{name}`"))),
        };
        // A constant explains nothing.
        if name.starts_with(|c: char| c.is_ascii_lowercase()) {
            self.seen.insert(name.to_owned(), value.clone());
        }
        Ok(value)
    }
}

fn too_large() -> Stop {
    Stop::Fail("a number gets too large".to_owned())
}

fn arithmetic(operator: &str, a: &Value, b: &Value) -> Result<Value, Stop> {
    if let (Value::Text(a), Value::Text(b), "+") = (a, b, operator) {
        return Ok(Value::Text(format!("{a}{b}")));
    }
    if let (Value::Text(_), "%") = (a, operator) {
        return Err(Stop::Unsupported("texts put together with `%`".to_owned()));
    }
    match (a.number(), b.number()) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => integers(operator, a, b),
        (Some(x), Some(y)) => floats(operator, x.real(), y.real()),
        _ => fail(format!("`{operator}` needs numbers: {a} and {b} are not")),
    }
}

fn integers(operator: &str, a: i128, b: i128) -> Result<Value, Stop> {
    let shift = u32::try_from(b).ok().filter(|n| *n < 64 && a.unsigned_abs() < 1 << 63);
    let found = match operator {
        "/" | "//" | "%" if b == 0 => return fail(format!("{a} is divided by zero")),
        "/" => return Ok(Value::Float(a as f64 / b as f64)),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        // Python rounds down, and the remainder has the sign of the divisor.
        "//" => a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }),
        "%" => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        "**" => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        "<<" => shift.map(|n| a << n),
        ">>" => shift.map(|n| a >> n),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        _ => None,
    };
    found.map(Value::Int).ok_or_else(too_large)
}

fn floats(operator: &str, a: f64, b: f64) -> Result<Value, Stop> {
    Ok(Value::Float(match operator {
        "/" | "//" | "%" if b == 0.0 => return fail(format!("{a} is divided by zero")),
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "//" => (a / b).floor(),
        "%" => a - (a / b).floor() * b,
        _ => return Err(Stop::Unsupported(format!("`{operator}` of fractions"))),
    }))
}

fn compare(operator: &str, a: &Value, b: &Value) -> Result<bool, Stop> {
    let ordering = match (a.number(), b.number(), a, b) {
        (Some(Value::Int(a)), Some(Value::Int(b)), ..) => Some(a.cmp(&b)),
        (Some(a), Some(b), ..) => a.real().partial_cmp(&b.real()),
        (.., Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => None,
    };
    let equal = || match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare("==", a, b) == Ok(true)),
        _ => ordering.map_or(a == b, std::cmp::Ordering::is_eq),
    };
    match (operator, ordering) {
        ("==", _) => Ok(equal()),
        ("!=", _) => Ok(!equal()),
        ("<", Some(o)) => Ok(o.is_lt()),
        ("<=", Some(o)) => Ok(o.is_le()),
        (">", Some(o)) => Ok(o.is_gt()),
        (">=", Some(o)) => Ok(o.is_ge()),
        ("in" | "not in", _) => {
            let is = match (a, b) {
                (_, Value::List(all)) => all.iter().any(|b| compare("==", a, b) == Ok(true)),
                (Value::Text(a), Value::Text(b)) => b.contains(a.as_str()),
                _ => return fail(format!("nothing can be in {b}")),
            };
            Ok(is == (operator == "in"))
        }
        _ => fail(format!("{a} and {b} have no order")),
    }
}

fn call(name: &str, mut arguments: Vec<Value>) -> Result<Value, Stop> {
    if let ("min" | "max", [Value::List(all)]) = (name, &arguments[..]) {
        arguments = all.clone();
    }
    let numbers: Option<Vec<Value>> = arguments.iter().map(Value::number).collect();
    match (name, &arguments[..], numbers.as_deref()) {
        ("len", [Value::List(all)], _) => Ok(Value::Int(all.len() as i128)),
        ("str", [value], _) => Ok(Value::Text(value.to_string())),
        ("abs", _, Some([Value::Int(n)])) => n.checked_abs().map(Value::Int).ok_or_else(too_large),
        ("abs", _, Some([Value::Float(x)])) => Ok(Value::Float(x.abs())),
        ("float", _, Some([n])) => Ok(Value::Float(n.real())),
        ("int" | "round", _, Some([Value::Int(n)])) => Ok(Value::Int(*n)),
        ("int", _, Some([Value::Float(x)])) => Ok(Value::Int(*x as i128)),
        ("round", _, Some([Value::Float(x)])) => Ok(Value::Int(x.round_ties_even() as i128)),
        ("min" | "max", _, Some([first, rest @ ..])) => {
            let operator = if name == "min" { "<" } else { ">" };
            let mut best = first.clone();
            for n in rest {
                if compare(operator, n, &best)? {
                    best = n.clone();
                }
            }
            Ok(best)
        }
        ("len" | "str" | "abs" | "float" | "int" | "round" | "min" | "max", ..) => fail(format!("{name}() does not take that")),
        _ => Err(Stop::Unsupported(format!("the function `{name}`"))),
    }
}

impl Value {
    /// Returns the depth to which lists are nested in it, and the number of values it holds with those.
    fn extent(&self) -> (usize, usize) {
        let Value::List(all) = self else { return (0, 1) };
        let inner = all.iter().map(Value::extent);
        let (depth, size) = inner.fold((0, 1), |(depth, size), (deeper, more)| (depth.max(deeper), size + more));
        (depth + 1, size)
    }

    fn truth(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Float(x) => *x != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(all) => !all.is_empty(),
        }
    }

    /// Returns the value as an integer or a fraction; a truth value counts as 0 or 1.
    fn number(&self) -> Option<Value> {
        match self {
            Value::Bool(b) => Some(Value::Int(i128::from(*b))),
            Value::Int(_) | Value::Float(_) => Some(self.clone()),
            _ => None,
        }
    }

    fn real(&self) -> f64 {
        match self {
            Value::Int(n) => *n as f64,
            Value::Float(x) => *x,
            _ => f64::NAN,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => write!(f, "None"),
            Value::Bool(true) => write!(f, "True"),
            Value::Bool(false) => write!(f, "False"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Text(text) => write!(f, "{text}"),
            Value::List(all) => write!(f, "[{}]", all.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}
