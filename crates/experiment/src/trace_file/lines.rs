//! One value a line, the same time apart.

use super::{Content, Format, How, columns, lines, value};
use crate::short;
use longfat_core::link::course::Step;

pub(super) const FORMAT: Format = Format { name: "lines", parse };

fn parse(bytes: &[u8], how: How) -> Result<Content, String> {
    let (Some(column), Some(interval)) = (how.value, how.interval) else { panic!("both are needed keys") };
    let unit = columns(how.of).iter().find(|(name, _)| *name == column).expect("the key allows no other").1;
    let step = |(i, (number, line)): (usize, (usize, Result<String, String>))| {
        let line = line?;
        let value =
            value(&line, unit).ok_or_else(|| format!("line {number} is `{}`, and not one number that is not negative", short(&line)))?;
        Ok(Step { at: interval.saturating_mul(i as u64), value })
    };
    Ok(Content::Steps(lines(bytes).enumerate().map(step).collect::<Result<_, String>>()?))
}
