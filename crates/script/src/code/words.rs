//! The words of a statement.

use super::Value;
use crate::place::{Place, SyntaxError};

/// Symbols, longest first.
const SYMBOLS: &[&str] = &[
    "**=", "//=", "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "<", ">",
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "(", ")", "[", "]", ",", "=", ".", ";", ":", "{", "}", "@",
];

/// A word.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word {
    Name(String),
    Number(Value),
    Text(String),
    Symbol(&'static str),
    Newline,
    End,
}

/// Words with their place and where they begin and end in the text. Inside brackets a new line means nothing.
pub(super) fn words(text: &str, start: Place) -> Result<Vec<(Word, Place, usize, usize)>, SyntaxError> {
    let mut all = Vec::new();
    let mut place = start;
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (word, len) = if c == '\n' {
            ((open == 0).then_some(Word::Newline), 1)
        } else if c.is_whitespace() {
            (None, c.len_utf8())
        } else if c == '#' || rest.starts_with("\\\n") {
            (None, rest.find('\n').map_or(rest.len(), |n| n + usize::from(c == '\\')))
        } else if c == '"' || c == '\'' {
            let Some((text, len)) = quoted(rest, c) else {
                return Err(SyntaxError::new(place, "this text does not end".to_owned(), format!("a closing `{c}`")));
            };
            (Some(Word::Text(text)), len)
        } else if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            let (value, len) = number(rest, place)?;
            (Some(Word::Number(value)), len)
        } else if c.is_ascii_alphabetic() || c == '_' {
            let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Some(Word::Name(rest[..len].to_owned())), len)
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            match *symbol {
                "(" | "[" | "{" => open += 1,
                ")" | "]" | "}" => open = open.saturating_sub(1),
                _ => {}
            }
            (Some(Word::Symbol(symbol)), symbol.len())
        } else {
            return Err(SyntaxError::new(place, format!("the character {c:?} means nothing here"), "a Python expression".to_owned()));
        };
        if let Some(word) = word {
            all.push((word, place, at, at + len));
        }
        for c in rest[..len].chars() {
            place = if c == '\n' { Place { line: place.line + 1, column: 1 } } else { Place { column: place.column + 1, ..place } };
        }
        at += len;
    }
    all.push((Word::End, place, at, at));
    Ok(all)
}

/// The text in quotes that `rest` begins with, and its length with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                c => text.push(c),
            },
            c if c == quote => return Some((text, at + 1)),
            c => text.push(c),
        }
    }
    None
}

fn number(rest: &str, place: Place) -> Result<(Value, usize), SyntaxError> {
    let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
    let digits = rest[..len].replace('_', "");
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok().map(Value::Int),
        None => digits.parse().map(Value::Int).ok().or_else(|| digits.parse().map(Value::Float).ok()),
    };
    let value = value.ok_or_else(|| SyntaxError::new(place, format!("`{}` is no number", &rest[..len]), "a number".to_owned()))?;
    Ok((value, len))
}
