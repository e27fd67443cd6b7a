//! Milliseconds, one a line, at which 1500 bytes can leave (mm-link(1)).

use super::{Content, Format, lines};
use crate::short;

pub(super) const FORMAT: Format = Format {
    name: "mahimahi",
    parse: |bytes, _| {
        let times = lines(bytes).map(|(number, line)| millisecond(number, &line?));
        Ok(Content::Opportunities(times.collect::<Result<_, _>>()?))
    },
};

fn millisecond(number: usize, line: &str) -> Result<u32, String> {
    line.trim().parse().map_err(|_| format!("line {number} is `{}`, and not a whole number of milliseconds", short(line)))
}
