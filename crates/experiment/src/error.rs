//! Errors of an experiment file: the place of each, its message, and what would be right.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Errors of one file told at once.
const MAX_ERRORS: usize = 5;
/// Most characters shown of a line. Any other part shows one and a half times as many.
const MOST_CHARACTERS: usize = 160;

/// A stretch of one of the document's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// Number of the text: 0 is the file, others are changes made since.
    pub text: usize,
    pub start: usize,
    pub end: usize,
}

/// Something wrong with an experiment, as a person is told of it: a [`Report`], boxed to keep results small.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Report>);

/// The parts of an [`Error`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The file, or the change made to it (`set flow[0].window`).
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Path in the experiment: `flow[0].window`; empty for the file as a whole.
    pub key: String,
    /// Message in one sentence.
    pub message: String,
    /// Value in the file.
    pub found: Option<String>,
    /// Values that are allowed.
    pub expected: Option<String>,
    /// Advice: the nearest valid name, the other unit.
    pub help: Option<String>,
    /// Run of the sweep in which it was found, if not in all.
    pub run: Option<String>,
    /// Line of the text that contains it.
    pub source_line: String,
    /// Characters of the line that are meant.
    pub width: usize,
    /// Errors further on.
    pub others: Vec<Error>,
}

impl std::error::Error for Error {}

impl Deref for Error {
    type Target = Report;
    fn deref(&self) -> &Report {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = " ".repeat(self.line.to_string().len());
        writeln!(f, "error: {}", short(&self.message))?;
        writeln!(f, "{margin}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        let (before, shown, width) = self.excerpt();
        writeln!(f, "{} | {}", self.line, shown)?;
        // A tab before the place stays a tab, so that the carets stand under it.
        let lead: String = shown.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "{margin} | {lead}{}", "^".repeat(width))?;
        let key = Some(&self.key).filter(|key| !key.is_empty());
        let rows = [("key", key), ("found", self.found.as_ref()), ("expected", self.expected.as_ref())];
        for (name, text) in rows.into_iter().chain([("help", self.help.as_ref()), ("in the run with", self.run.as_ref())]) {
            if let Some(text) = text {
                write!(f, "\n{margin} = {name}: {}", short(text))?;
            }
        }
        for other in &self.others {
            write!(f, "\n\n{other}")?;
        }
        Ok(())
    }
}

impl Report {
    /// Returns the part of its line that is shown, the characters of it before the place, and the characters that are meant.
    fn excerpt(&self) -> (usize, String, usize) {
        let before = self.column - 1;
        if self.source_line.chars().nth(MOST_CHARACTERS).is_none() {
            return (before, self.source_line.clone(), self.width);
        }
        // A long line is cut to the text around the place.
        let skipped = before.saturating_sub(MOST_CHARACTERS / 4);
        let mut rest = self.source_line.chars().skip(skipped);
        let lead = if skipped > 0 { "… " } else { "" };
        let shown: String = rest.by_ref().take(MOST_CHARACTERS).collect();
        let tail = if rest.next().is_some() { " …" } else { "" };
        let before = before - skipped;
        let width = self.width.min(shown.chars().count().saturating_sub(before).max(1));
        (before + lead.chars().count(), format!("{lead}{shown}{tail}"), width)
    }
}

/// `text`, without its middle where it is longer than anybody reads.
pub fn short(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= 2 * MOST_CHARACTERS {
        return text.into();
    }
    let (head, tail) = (text.chars().take(MOST_CHARACTERS), text.chars().skip(count - MOST_CHARACTERS / 2));
    format!("{} … ({count} characters) … {}", head.collect::<String>(), tail.collect::<String>()).into()
}

/// An error that does not know its text yet, only the place in it.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    span: Span,
    report: Box<Report>,
    /// Unknown key, with the keys that lead to the table that contains it, if the fault is one.
    pub unknown: Option<Box<(String, Vec<String>)>>,
}

impl Fault {
    pub(crate) fn new(span: Span, key: impl Into<String>, message: impl Into<String>) -> Self {
        Fault { span, report: Box::new(Report { key: key.into(), message: message.into(), ..Report::default() }), unknown: None }
    }
    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.report.found = Some(found.into());
        self
    }
    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.report.expected = Some(expected.into());
        self
    }
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.report.help = Some(help.into());
        self
    }
    pub(crate) fn help_if_none(&mut self, help: impl FnOnce() -> String) {
        self.report.help.get_or_insert_with(help);
    }
    /// True if both faults begin at the same place.
    pub(crate) fn same_place(&self, other: &Fault) -> bool {
        (self.span.text, self.span.start) == (other.span.text, other.span.start)
    }
    /// Adds the run of a sweep in which the fault is.
    pub(crate) fn in_run(mut self, values: String) -> Self {
        self.report.run = Some(values);
        self
    }
    /// Adds the nearest of `names` to `wrong`, if one is near.
    pub(crate) fn nearest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// The first of `faults`, with the others in it: in the order of the text, and not more than a person reads.
    pub(crate) fn locate_all(mut faults: Vec<Fault>, texts: &[(String, String)]) -> Option<Error> {
        // A fault in a newer text comes first: a change to the file is the last thing that was done.
        faults.sort_by_key(|f| (std::cmp::Reverse(f.span.text), f.span.start));
        let mut errors = faults.into_iter().take(MAX_ERRORS).map(|fault| fault.locate(texts));
        let mut first = errors.next()?;
        first.0.others = errors.collect();
        Some(first)
    }

    /// The error, with the text of the document it points into. `texts` are (name, content).
    pub(crate) fn locate(self, texts: &[(String, String)]) -> Error {
        let (file, text) = &texts[self.span.text.min(texts.len() - 1)];
        let mut start = self.span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        // A place at the end of the text is shown on the last line that has one.
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[line_start..].find('\n').map_or(text.len(), |i| line_start + i);
        let source_line = text[line_start..line_end].trim_end_matches('\r');
        let start = start.min(line_start + source_line.len());
        let mut end = self.span.end.clamp(start, line_start + source_line.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let mut report = self.report;
        report.file.clone_from(file);
        report.line = text[..line_start].matches('\n').count() + 1;
        report.column = text[line_start..start].chars().count() + 1;
        report.width = text[start..end].chars().count().max(1);
        report.source_line = source_line.to_owned();
        Error(report)
    }
}

/// Returns the nearest of `names` to `wrong`, if it is near enough to be the intended one.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |name: &str| {
        if name.eq_ignore_ascii_case(wrong) {
            1.0
        } else {
            strsim::normalized_damerau_levenshtein(wrong, name).max(strsim::jaro_winkler(wrong, name) - 0.2)
        }
    };
    let scored = names.into_iter().map(|name| (score(name), name));
    // The first of equals, so that the answer does not change.
    let best = scored.fold(None, |best: Option<(f64, &str)>, next| if best.is_none_or(|b| next.0 > b.0) { Some(next) } else { best });
    best.filter(|(score, _)| *score >= 0.6).map(|(_, name)| name)
}
