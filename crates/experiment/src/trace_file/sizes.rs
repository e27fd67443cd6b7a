//! Sizes of connections: the header `size_bytes,share`, and lines of a size and the share of connections that have no more.

use super::{Content, Format, How, columns, lines};
use crate::short;
use longfat_core::params::{Kept, Params, Value};

pub(crate) const FORMAT: Format = Format { name: "sizes", parse };

/// Largest size, in bytes: 1 PiB.
const LARGEST: f64 = (1_u64 << 50) as f64;
/// Lines that a run keeps among its parameters.
const MOST: usize = 10_000;

fn parse(bytes: &[u8], how: How) -> Result<Content, String> {
    let expected = [columns(how.of)[0].0, "share"];
    let mut lines = lines(bytes);
    let (_, header) = lines.next().ok_or("it is empty")?;
    let header = header?;
    if header.split(',').map(str::trim).ne(expected) {
        return Err(format!("its first line is `{}`, and must be the header {}", short(&header), expected.join(",")));
    }
    let mut before = (0.0, 0.0);
    let mut points = Vec::new();
    for (number, line) in lines {
        let line = line?;
        let wrong = |why: &str| format!("line {number} is `{}`{why}", short(&line));
        let numbers = line.split_once(',').and_then(|(size, share)| Some((size.trim().parse().ok()?, share.trim().parse().ok()?)));
        let (size, share): (f64, f64) = numbers.ok_or_else(|| wrong(", and not two numbers"))?;
        if !((0.0..=LARGEST).contains(&size) && (0.0..=1.0).contains(&share)) {
            return Err(wrong(": a size is 0 bytes to 1 PiB, and a share 0 to 1"));
        }
        if size < before.0 || share < before.1 {
            return Err(wrong(&format!(", less than {},{} before it: sizes and shares rise", before.0, before.1)));
        }
        if points.len() == MOST {
            return Err(format!("it has more than {MOST} sizes: leave out points that lie between others"));
        }
        before = (size, share);
        points.push(Params(vec![("size", Value::Bytes((size + 0.5) as u64)), ("share", Value::Number(share + 0.0))]));
    }
    match before {
        (_, share) if !points.is_empty() && share != 1.0 => Err(format!("its last share is {share}, and must be 1")),
        (size, _) if !points.is_empty() && size < 1.0 => Err("its largest size is 0: no connection has anything to send".to_owned()),
        _ => Ok(()),
    }?;
    Ok(Content::Sizes(Kept::from(points)))
}
