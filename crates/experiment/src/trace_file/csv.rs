//! Two columns, named by the first line: a time, and a rate or a delay.

use super::{Columns, Content, Format, How, TIMES, columns, lines, value};
use crate::short;
use longfat_core::link::course::Step;
use longfat_core::time::Duration;

pub(super) const FORMAT: Format = Format { name: "csv", parse };

fn parse(bytes: &[u8], how: How) -> Result<Content, String> {
    let values = columns(how.of);
    let mut lines = lines(bytes);
    let names = |of: Columns| of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
    let expected = || format!("two columns, {} and {}", names(TIMES), names(values));
    let (_, header) = lines.next().ok_or("it is empty")?;
    let header = header?;
    if header.trim().parse::<f64>().is_ok() {
        return Err(format!("its lines have one value each, and no header: `kind = \"lines\"` reads those; `csv` has {}", expected()));
    }
    let mut columns = header.split(',').map(str::trim);
    let mut unit = |of: Columns| {
        let name = columns.next().unwrap_or("");
        of.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    };
    let (Some(time), Some(measure), None) = (unit(TIMES), unit(values), columns.next()) else {
        return Err(format!("its header is `{}`, and must name {}", short(&header), expected()));
    };
    let step = |(number, line): (usize, Result<String, String>)| {
        let line = line?;
        let wrong = || format!("line {number} is `{}`, and not two numbers, neither of them negative", short(&line));
        let (at, is) = line.split_once(',').ok_or_else(wrong)?;
        match (value(at, time), value(is, measure)) {
            (Some(at), Some(value)) => Ok(Step { at: Duration::from_ps(at), value }),
            _ => Err(wrong()),
        }
    };
    Ok(Content::Steps(lines.map(step).collect::<Result<_, _>>()?))
}
