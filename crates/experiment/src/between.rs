//! Ranges: `{ between = ["1 Mbit/s", "1 Gbit/s"], points = 7, scale = "log" }` is a sweep of values from one end to the other. It is written out
//! as one before anything else looks at the file, so nothing else knows of ranges.

use super::error::{Fault, Span};
use super::tree::{Entry, Node, Step, Table, Tree, path_text};
use longfat_core::rng::Rng;
use longfat_core::units::text::{Dimension, RATE, SIZE, TIME, split};

const KEYS: [&str; 7] = ["between", "points", "ratio", "scale", "sample", "name", "zip"];
/// Spreads of the points of several ranges over all of them together, when they are not a grid.
const SAMPLES: [&str; 3] = ["random", "latin", "sobol"];
const MOST_POINTS: i64 = 65_536;
/// Digits to which values between the ends are rounded: nobody wants to read "12.58925411 Mbit/s".
const DIGITS: i32 = 4;

/// True if `table` is a range.
pub(crate) fn is_range(table: &Table) -> bool {
    matches!(table.get("between").map(|node| &node.value), Some(Tree::Array(_)))
}

/// Writes every range of `root` out as a sweep.
///
/// # Errors
/// A fault if one of them is malformed.
pub(crate) fn expand(root: &mut Node) -> Result<(), Fault> {
    let seed = match root.as_table().and_then(|table| table.get("seed")).map(|node| &node.value) {
        Some(Tree::Integer(n)) => *n as u64,
        _ => 1,
    };
    let mut walk = Walk { seed, sampled: 0, first: None };
    let Tree::Table(table) = &mut root.value else { return Ok(()) };
    // The ranges of the quick form are written out when it is asked for.
    table.0.iter_mut().filter(|entry| entry.key != "quick").try_for_each(|entry| {
        let mut path = vec![Step::Key(entry.key.clone())];
        walk.look(&mut entry.node, &mut path)
    })
}

struct Walk {
    seed: u64,
    /// Ranges before this one that are sampled: each is a dimension.
    sampled: u32,
    /// Spread of the first of them.
    first: Option<(String, usize)>,
}

impl Walk {
    fn look(&mut self, node: &mut Node, path: &mut Vec<Step>) -> Result<(), Fault> {
        match &mut node.value {
            Tree::Table(table) if is_range(table) => {
                let range = Range::read(node.span, table, path)?;
                *table = self.sweep(&range, path)?;
                Ok(())
            }
            Tree::Table(table) => table.0.iter_mut().try_for_each(|entry| {
                path.push(Step::Key(entry.key.clone()));
                let looked = self.look(&mut entry.node, path);
                path.pop();
                looked
            }),
            Tree::Array(items) => items.iter_mut().enumerate().try_for_each(|(i, item)| {
                path.push(Step::Index(i));
                let looked = self.look(item, path);
                path.pop();
                looked
            }),
            _ => Ok(()),
        }
    }

    fn sweep(&mut self, range: &Range, path: &[Step]) -> Result<Table, Fault> {
        let shares = match &range.sample {
            None => (0..range.points).map(|i| i as f64 / (range.points - 1) as f64).collect(),
            Some(sample) => {
                let same = self.first.get_or_insert_with(|| (sample.clone(), range.points));
                if *same != (sample.clone(), range.points) {
                    let fault = Fault::new(range.span, path_text(path), "ranges that are sampled have the same `sample` and `points`");
                    return Err(fault.expected(format!("sample = \"{}\", points = {}", same.0, same.1)));
                }
                self.sampled += 1;
                self.sampled(sample, range.points, path)
            }
        };
        let mut values: Vec<Node> = Vec::with_capacity(shares.len());
        for share in shares {
            let value = Node { span: range.span, value: range.at(share) };
            // Neighbours in a grid may be the same whole number.
            if range.sample.is_some() || values.last().is_none_or(|last| last.found() != value.found()) {
                values.push(value);
            }
        }
        let node = |value| Node { span: range.span, value };
        let entry = |key: &str, value| Entry { key: key.to_owned(), key_span: range.span, node: node(value) };
        let mut sweep = vec![entry("sweep", Tree::Array(values))];
        sweep.extend(range.name.clone().map(|name| entry("name", Tree::Text(name))));
        let zip = range.zip.clone().or_else(|| range.sample.as_ref().map(|sample| format!("{sample} sample")));
        sweep.extend(zip.map(|zip| entry("zip", Tree::Text(zip))));
        Ok(Table(sweep))
    }

    /// `points` numbers from 0 to 1, the coordinates in one dimension of points in a cube.
    fn sampled(&self, sample: &str, points: usize, path: &[Step]) -> Vec<f64> {
        // Each range has a stream of its own, so that another range does not move its values.
        let mut rng = Rng::named(self.seed, &format!("sample {}", path_text(path)));
        match sample {
            // One point in each of `points` slices (McKay, Beckman and Conover 1979).
            "latin" => {
                let mut slices: Vec<usize> = (0..points).collect();
                for i in (1..points).rev() {
                    slices.swap(i, rng.below(i as u64 + 1) as usize);
                }
                slices.into_iter().map(|slice| (slice as f64 + rng.uniform()) / points as f64).collect()
            }
            // Sobol 1967, scrambled (Owen 1995) by the seed.
            "sobol" => {
                let seed = Rng::named(self.seed, "sobol").next_u64() as u32;
                (0..points as u32).map(|i| f64::from(sobol_burley::sample(i, self.sampled - 1, seed))).collect()
            }
            _ => (0..points).map(|_| rng.uniform()).collect(),
        }
    }
}

/// Unit of both ends: numbers, and how a number between them is written.
enum Unit {
    Of(&'static Dimension),
    /// Number with a word, as in `"60 packets"`.
    Word(String),
    Whole,
    Real,
}

struct Range {
    span: Span,
    ends: [Tree; 2],
    from: f64,
    to: f64,
    unit: Unit,
    is_log: bool,
    points: usize,
    sample: Option<String>,
    name: Option<String>,
    zip: Option<String>,
}

impl Range {
    fn read(span: Span, table: &Table, path: &[Step]) -> Result<Self, Fault> {
        let key = path_text(path);
        if let Some(entry) = table.0.iter().find(|entry| !KEYS.contains(&entry.key.as_str())) {
            let fault = Fault::new(entry.key_span, &key, format!("there is no key `{}` in a range", entry.key)).expected(KEYS.join(", "));
            return Err(fault.nearest(&entry.key, KEYS));
        }
        let between = table.get("between").expect("it is a range");
        let (ends, from, to, unit) = ends(between).ok_or_else(|| {
            Fault::new(between.span, &key, "a range is between two numbers of one kind")
                .expected("such as between = [\"1 Mbit/s\", \"1 Gbit/s\"], the smaller first")
        })?;
        let word = |name: &str, words: &[&str]| match table.get(name).map(|node| (node, node.as_text())) {
            None => Ok(None),
            Some((_, Some(text))) if !text.is_empty() && (words.is_empty() || words.contains(&text)) => Ok(Some(text.to_owned())),
            Some((node, _)) => {
                let fault = Fault::new(node.span, &key, format!("the `{name}` of a range is not one")).found(node.found());
                Err(if words.is_empty() { fault.expected("a name") } else { fault.expected(words.join(" or ")) })
            }
        };
        let scale = word("scale", &["linear", "log"])?;
        let ratio = match table.get("ratio") {
            None => None,
            Some(node) => match node.value {
                Tree::Float(x) if x > 1.0 && x.is_finite() => Some(x),
                Tree::Integer(n) if n > 1 => Some(n as f64),
                _ => {
                    let fault = Fault::new(node.span, &key, "the `ratio` of a range is how many times the value before each is")
                        .found(node.found());
                    return Err(fault.expected("a number over 1, such as 1.05"));
                }
            },
        };
        let is_log = ratio.is_some() || scale.as_deref() == Some("log");
        if is_log && from <= 0.0 {
            return Err(Fault::new(between.span, &key, "a range of scale \"log\" begins above zero"));
        }
        if let (Some(_), Some("linear")) = (ratio, scale.as_deref()) {
            return Err(Fault::new(span, &key, "a range with a `ratio` has the scale \"log\""));
        }
        let points = match (table.get("points"), ratio) {
            (Some(node), None) => match node.value {
                Tree::Integer(n @ 2..=MOST_POINTS) => n as usize,
                _ => return Err(Fault::new(node.span, &key, "a range has a number of points").found(node.found()).expected("2 to 65536")),
            },
            // The last step is no longer than the others.
            (None, Some(ratio)) => 1 + (libm::log(to / from) / libm::log(ratio) - 1e-9).ceil().clamp(1.0, MOST_POINTS as f64) as usize,
            _ => return Err(Fault::new(span, &key, "a range says its `points` or its `ratio`").expected("points = 10, or ratio = 1.05")),
        };
        let sample = word("sample", &SAMPLES)?;
        let zip = word("zip", &[])?;
        if let (Some(_), Some(_)) = (&sample, &zip) {
            return Err(Fault::new(span, &key, "ranges that are sampled advance together, without a `zip`"));
        }
        Ok(Range { span, ends, from, to, unit, is_log, points, sample, name: word("name", &[])?, zip })
    }

    /// The value at this share of the way.
    fn at(&self, share: f64) -> Tree {
        if self.sample.is_none() && (share == 0.0 || share == 1.0) {
            return self.ends[share as usize].clone();
        }
        let number =
            if self.is_log { self.from * libm::pow(self.to / self.from, share) } else { self.from + (self.to - self.from) * share };
        match &self.unit {
            Unit::Of(dimension) => {
                // "128 KiB" is as short as a size can be.
                let is_short = std::ptr::eq(*dimension, &SIZE) && number.round() % 1024.0 == 0.0;
                let number = if is_short { number } else { rounded(number) };
                Tree::Text(dimension.format(number.round().clamp(self.from, self.to) as u64))
            }
            Unit::Word(word) if word == "bdp" => Tree::Text(format!("{} bdp", rounded(number))),
            Unit::Word(word) => Tree::Text(format!("{} {word}", number.round())),
            Unit::Whole => Tree::Integer(number.round() as i64),
            Unit::Real => Tree::Float(rounded(number).clamp(self.from, self.to)),
        }
    }
}

/// Returns both ends as they are written and as numbers, the first below the second.
fn ends(between: &Node) -> Option<([Tree; 2], f64, f64, Unit)> {
    let Tree::Array(items) = &between.value else { return None };
    let [from, to] = &items[..] else { return None };
    let (a, b, unit) = match (&from.value, &to.value) {
        (Tree::Text(a), Tree::Text(b)) => texts(a, b)?,
        (Tree::Integer(a), Tree::Integer(b)) => (*a as f64, *b as f64, Unit::Whole),
        (a, b) => (number(a)?, number(b)?, Unit::Real),
    };
    (a < b && b.is_finite()).then(|| ([from.value.clone(), to.value.clone()], a, b, unit))
}

fn texts(from: &str, to: &str) -> Option<(f64, f64, Unit)> {
    for dimension in [&TIME, &RATE, &SIZE] {
        if let (Ok(a), Ok(b)) = (dimension.parse(from), dimension.parse(to)) {
            return Some((a as f64, b as f64, Unit::Of(dimension)));
        }
    }
    let ((a, of), (b, word)) = (split(from).ok()?, split(to).ok()?);
    let (a, b) = (a.parse().ok()?, b.parse().ok()?);
    (of == word && !word.is_empty()).then(|| (a, b, Unit::Word(word.to_owned())))
}

fn number(value: &Tree) -> Option<f64> {
    match value {
        Tree::Integer(n) => Some(*n as f64),
        Tree::Float(x) => Some(*x),
        _ => None,
    }
}

/// Rounds to [`DIGITS`] digits.
fn rounded(number: f64) -> f64 {
    if number == 0.0 {
        return number;
    }
    // The decimal text gives the number that is meant.
    let digits = (DIGITS - 1) as usize;
    format!("{number:.digits$e}").parse().expect("a number as it was written")
}
