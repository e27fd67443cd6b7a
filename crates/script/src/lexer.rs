//! The words of a script, each with its place.

use crate::place::{Place, SyntaxError};

/// One word.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Token {
    /// Letters, digits and `_`, not digits alone.
    Word(String),
    /// A whole number, as written (a time of `1` and a count of `1` look alike).
    Integer(i64),
    /// A number with a decimal point.
    Float(String),
    Text(String),
    /// Four numbers and points.
    Address(String),
    /// `--name=value`: name and value, as written.
    Setting(String, String),
    /// Text between back quotes.
    Command(String),
    /// Text between `%{` and `}%`.
    Code(String),
    Ellipsis,
    Mark(char),
    End,
}

impl Token {
    /// Returns its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Token::Word(text) | Token::Float(text) | Token::Address(text) => format!("`{text}`"),
            Token::Integer(n) => format!("`{n}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Setting(name, _) => format!("the option `--{name}`"),
            Token::Command(_) => "a command in back quotes".to_owned(),
            Token::Code(_) => "a code block".to_owned(),
            Token::Ellipsis => "`...`".to_owned(),
            Token::Mark(c) => format!("`{c}`"),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// Returns all words of `source`, the last of them [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<(Token, Place)>, SyntaxError> {
    let mut lexer = Lexer { rest: source, place: Place { line: 1, column: 1 } };
    let mut all = Vec::new();
    loop {
        lexer.skip()?;
        let place = lexer.place;
        let token = lexer.token()?;
        let last = token == Token::End;
        all.push((token, place));
        if last {
            return Ok(all);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Lexer<'a> {
    /// Takes `bytes`, which end at a character's end.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !of(c)).unwrap_or(self.rest.len()))
    }

    /// Takes all text up to and including `end`, and returns the text before it.
    fn take_until(&mut self, start: &str, end: &str, what: &str) -> Result<&'a str, SyntaxError> {
        let place = self.place;
        match self.rest[start.len()..].find(end) {
            Some(at) => {
                self.take(start.len());
                let inside = self.take(at);
                self.take(end.len());
                Ok(inside)
            }
            None => Err(SyntaxError::new(place, format!("this {what} does not end"), format!("`{end}` somewhere after it"))),
        }
    }

    /// Passes over space and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                self.take_until("/*", "*/", "comment")?;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        let digit = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        if rest.starts_with("--") && rest[2..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.setting();
        }
        if rest.starts_with("...") {
            self.take(3);
            return Ok(Token::Ellipsis);
        }
        if rest.starts_with("%{") {
            return Ok(Token::Code(self.take_until("%{", "}%", "code block")?.to_owned()));
        }
        match first {
            '`' => Ok(Token::Command(self.take_until("`", "`", "command")?.to_owned())),
            '"' => self.text().map(Token::Text),
            '0'..='9' => self.number(),
            '.' if digit(1) => self.number(),
            '-' if digit(1) || (rest.starts_with("-.") && digit(2)) => self.number(),
            'a'..='z' | 'A'..='Z' | '_' => Ok(Token::Word(self.take_while(is_word).to_owned())),
            c if c.is_ascii_graphic() => {
                self.take(1);
                Ok(Token::Mark(c))
            }
            c => Err(SyntaxError::new(
                self.place,
                format!("the character {c:?} means nothing here"),
                "plain ASCII outside of comments".to_owned(),
            )),
        }
    }

    /// `--name=value`, `--name="a value"`, `--set name=value`, or a lone `--name`.
    fn setting(&mut self) -> Result<Token, SyntaxError> {
        self.take(2);
        let mut name = self.take_while(|c| is_word(c) || c == '.').to_owned();
        if name == "set" {
            self.take_while(|c| c == ' ' || c == '=');
            name = format!("set {}", self.take_while(|c| is_word(c) || c == '.'));
        }
        let value = if self.rest.starts_with('=') {
            self.take(1);
            if self.rest.starts_with('"') { self.text()? } else { self.take_while(|c| !c.is_whitespace()).to_owned() }
        } else {
            String::new()
        };
        Ok(Token::Setting(name, value))
    }

    fn text(&mut self) -> Result<String, SyntaxError> {
        let place = self.place;
        self.take(1);
        let mut text = String::new();
        let mut escaped = false;
        while let Some(c) = self.rest.chars().next() {
            self.take(c.len_utf8());
            match c {
                '"' if !escaped => return Ok(text),
                '\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                'n' if escaped => text.push('\n'),
                't' if escaped => text.push('\t'),
                c => text.push(c),
            }
            escaped = false;
        }
        Err(SyntaxError::new(place, "this text does not end".to_owned(), "a closing `\"`".to_owned()))
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        let place = self.place;
        let too_large = |text: &str| SyntaxError::new(place, format!("{text} is too large"), "a number of at most 63 bits".to_owned());
        if self.rest.starts_with("0x") || self.rest.starts_with("0X") {
            self.take(2);
            let digits = self.take_while(is_word);
            return match i64::from_str_radix(digits, 16) {
                Ok(n) => Ok(Token::Integer(n)),
                Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()) => Err(too_large(digits)),
                Err(_) => Err(SyntaxError::new(place, format!("`0x{digits}` is no number"), "hexadecimal digits after `0x`".to_owned())),
            };
        }
        let bytes = self.rest.as_bytes();
        let mut end = usize::from(bytes[0] == b'-');
        let mut points = 0;
        while let Some(b) = bytes.get(end) {
            let point = *b == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if !point && !b.is_ascii_digit() {
                break;
            }
            points += usize::from(point);
            end += 1;
        }
        // A word may begin with digits, such as a Fast Open cookie.
        let whole = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        if points == 0 && whole > end {
            return Ok(Token::Word(self.take(whole).to_owned()));
        }
        let text = self.take(end);
        let tail = self.take_while(is_word);
        if !tail.is_empty() {
            return Err(SyntaxError::new(
                place,
                format!("`{text}{tail}` is neither a number nor a word"),
                "a space between them".to_owned(),
            ));
        }
        match points {
            0 => text.parse().map(Token::Integer).map_err(|_| too_large(text)),
            1 => Ok(Token::Float(text.to_owned())),
            3 => Ok(Token::Address(text.to_owned())),
            _ => Err(SyntaxError::new(place, format!("`{text}` is no number"), "at most one decimal point".to_owned())),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Token> {
        tokens(source).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn times_ellipses_and_flags_are_told_apart() {
        use Token::{Ellipsis, End, Float, Integer, Mark, Word};
        assert_eq!(words("+.1...0.200"), [Mark('+'), Float(".1".into()), Ellipsis, Float("0.200".into()), End]);
        assert_eq!(words("0...1"), [Integer(0), Ellipsis, Integer(1), End]);
        assert_eq!(words("-1 - P."), [Integer(-1), Mark('-'), Word("P".into()), Mark('.'), End]);
        assert_eq!(words("0x10"), [Integer(16), End]);
        assert_eq!(words("5a10 10"), [Word("5a10".into()), Integer(10), End]);
    }

    #[test]
    fn comments_and_places() {
        let all = tokens("// one\n/* two\n */ `x y`\n  \"a\\\"b\" --set tcp.mss=\"1 kB\" 10.0.0.1").unwrap();
        assert_eq!(all[0], (Token::Command("x y".into()), Place { line: 3, column: 5 }));
        assert_eq!(all[1], (Token::Text("a\"b".into()), Place { line: 4, column: 3 }));
        assert_eq!(all[2].0, Token::Setting("set tcp.mss".into(), "1 kB".into()));
        assert_eq!(all[3].0, Token::Address("10.0.0.1".into()));
    }
}
