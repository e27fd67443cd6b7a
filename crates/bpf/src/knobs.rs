//! Parameters of a twin: 64 bits each, in the order of the core's.

use crate::{Error, Twin};

use longfat_core::params::{Literal, ParamSpec, Params, Value};

/// The name of each parameter of a twin, and its value there.
pub type Knobs = Vec<(&'static str, u64)>;

/// Returns a value as 64 bits: a number has 32 bits after the point, a time is in microseconds, a flag is 0 or 1.
fn knob(value: Value) -> u64 {
    match value {
        Value::Number(x) => (x * 4_294_967_296.0 + 0.5) as u64,
        Value::Count(n) | Value::Bytes(n) => n,
        Value::Duration(d) => d.as_ps() / 1_000_000,
        Value::Bool(b) => b.into(),
        other => unreachable!("no twin has a parameter like {other:?}"),
    }
}

/// Returns `params` as the twin has them.
pub fn knobs(params: &Params) -> Knobs {
    params.0.iter().map(|(name, value)| (*name, knob(*value))).collect()
}

/// Returns the parameters of `twin`: its defaults with `changes`, each as an experiment file would write it.
pub fn settings(twin: &Twin, changes: &[(String, String)]) -> Result<Params, Error> {
    let specs = twin.core().params;
    let mut params = Params::defaults(specs);
    for (name, text) in changes {
        let spec = specs.iter().find(|spec| spec.name == name).ok_or_else(|| {
            let names: Vec<_> = specs.iter().map(|spec| format!("`{}`", spec.name)).collect();
            let known = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
            Error::Parameter(format!("{} has no parameter `{name}`; {known}", twin.name))
        })?;
        params.set(spec.name, read(spec, text)?);
    }
    Ok(params)
}

fn read(spec: &ParamSpec, text: &str) -> Result<Value, Error> {
    let parsed = [text.parse().ok().map(Literal::Bool), text.parse().ok().map(Literal::Integer), text.parse().ok().map(Literal::Float)];
    let literals: Vec<_> = parsed.into_iter().flatten().chain([Literal::Text(text)]).collect();
    literals.iter().find_map(|literal| spec.read(*literal).ok()).ok_or_else(|| {
        // The error is that of the first way to read the text.
        let why = spec.read(literals[0]).expect_err("none is right");
        Error::Parameter(format!("{}: it takes {}", why.message(spec.name, text), why.expected))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    fn set(name: &str, value: &str) -> Result<Knobs, String> {
        let changes = [(name.to_owned(), value.to_owned())];
        settings(find("scalable").unwrap(), &changes).map(|params| knobs(&params)).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_written_as_in_an_experiment() {
        assert_eq!(set("b", "0.25").unwrap(), [("a", 42_949_673), ("b", 1 << 30), ("legacy_window", 16), ("legacy_b", 1 << 31)]);
        assert_eq!(set("legacy_window", "20 segments").unwrap()[2], ("legacy_window", 20));
    }

    #[test]
    fn a_wrong_one_is_told_what_would_be_right() {
        for (name, value, message) in [
            ("c", "1", "scalable has no parameter `c`; it has `a`, `b`, `legacy_window`, `legacy_b`"),
            ("b", "0.9", "`b` is out of range: it takes a number from 0.001 to 0.5"),
            ("legacy_window", "20", "`legacy_window`: a quantity is a string with its unit: write \"20 segments\": it takes "),
        ] {
            let said = set(name, value).unwrap_err();
            assert!(said.starts_with(message), "{said}");
        }
    }
}
