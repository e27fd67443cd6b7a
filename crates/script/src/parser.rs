//! Parser from words to the tree: options, events and their times. Packets are in `packet`, system calls in `call`.

mod call;
mod packet;

use crate::code;
use crate::lexer::{Token, tokens};
use crate::place::{Place, SyntaxError};
use crate::syntax::{Action, Event, Script, Setting, When};
use longfat_core::time::Duration;
use longfat_core::units::text::scale;

/// The longest time a script can name: well within what virtual time can hold.
const LONGEST: Duration = Duration::from_secs(1_000_000);

/// The tree of `source`.
pub(crate) fn parse(source: &str) -> Result<Script, SyntaxError> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0 };
    let mut settings = Vec::new();
    while let Token::Setting(name, value) = parser.peek().clone() {
        settings.push(Setting { place: parser.place(), name, value });
        parser.next();
    }
    let mut events = Vec::new();
    // A command before all events needs no time.
    if let Token::Command(text) = parser.peek().clone() {
        let when = When::At { time: Duration::ZERO, relative: true };
        events.push(Event { place: parser.place(), when, action: Action::Command(text) });
        parser.next();
    }
    while *parser.peek() != Token::End {
        // And so does one after all of them, which puts back what the first has set.
        if let (Token::Command(text), Token::End) = (parser.peek().clone(), parser.peek_at(1)) {
            let when = When::At { time: Duration::ZERO, relative: true };
            events.push(Event { place: parser.place(), when, action: Action::Command(text) });
            parser.next();
            continue;
        }
        events.push(parser.event()?);
    }
    Ok(Script { settings, events })
}

struct Parser {
    tokens: Vec<(Token, Place)>,
    at: usize,
    /// Depth to which the current expression is nested.
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].0
    }

    fn place(&self) -> Place {
        self.tokens[self.at].1
    }

    /// Takes the next word; the end is never passed.
    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Skips the rest, which belongs to something that is not supported: a script that meets it ends there.
    fn give_up(&mut self) {
        self.at = self.tokens.len() - 1;
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(self.place(), format!("unexpected {}", self.peek().name()), expected.to_owned()))
    }

    /// Takes `mark` if it is next.
    fn takes(&mut self, mark: char) -> bool {
        let is = *self.peek() == Token::Mark(mark);
        if is {
            self.next();
        }
        is
    }

    fn expect(&mut self, mark: char, after: &str) -> Result<(), SyntaxError> {
        if self.takes(mark) { Ok(()) } else { self.unexpected(&format!("`{mark}` after {after}")) }
    }

    /// Takes the word `text` if it is next.
    fn takes_word(&mut self, text: &str) -> bool {
        let is = matches!(self.peek(), Token::Word(word) if word == text);
        if is {
            self.next();
        }
        is
    }

    fn word(&mut self, expected: &str) -> Result<String, SyntaxError> {
        match self.peek().clone() {
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            _ => self.unexpected(expected),
        }
    }

    /// A whole number from 0 to `most`.
    fn count(&mut self, what: &str, most: u64) -> Result<u64, SyntaxError> {
        match *self.peek() {
            Token::Integer(n) if u64::try_from(n).is_ok_and(|n| n <= most) => {
                self.next();
                Ok(n as u64)
            }
            _ => self.unexpected(&format!("{what}: a whole number from 0 to {most}")),
        }
    }

    fn event(&mut self) -> Result<Event, SyntaxError> {
        let place = self.place();
        let when = self.when()?;
        let action = match self.peek().clone() {
            Token::Mark('<') => {
                self.next();
                self.packet(true)?
            }
            Token::Mark('>') => {
                self.next();
                self.packet(false)?
            }
            Token::Command(text) => {
                self.next();
                Action::Command(text)
            }
            Token::Code(text) => {
                let place = self.place();
                self.next();
                Action::Code(code::parse(&text, place)?)
            }
            Token::Word(_) | Token::Ellipsis => Action::Call(self.call()?),
            _ => return self.unexpected("`<` or `>` and a packet, a system call, a command in back quotes or a block `%{ ... }%`"),
        };
        Ok(Event { place, when, action })
    }

    fn when(&mut self) -> Result<When, SyntaxError> {
        if self.takes('*') {
            return Ok(When::Any);
        }
        let relative = self.takes('+');
        let time = self.time("the time of an event: `+0.1` after the one before, `0.1` from the start, `+0~+0.1`, or `*`")?;
        if !self.takes('~') {
            return Ok(When::At { time, relative });
        }
        let place = self.place();
        if self.takes('+') != relative {
            let expected = if relative { "`+` before both ends of a relative range" } else { "no `+` in a range of absolute times" };
            return Err(SyntaxError::new(place, "one end of this range is relative and the other is not".to_owned(), expected.to_owned()));
        }
        let to = self.time("the end of the range")?;
        if to < time {
            return Err(SyntaxError::new(place, "this range ends before it begins".to_owned(), "the earlier time first".to_owned()));
        }
        Ok(When::Between { from: time, to, relative })
    }

    /// Seconds, exactly.
    fn time(&mut self, expected: &str) -> Result<Duration, SyntaxError> {
        let text = match self.peek() {
            Token::Integer(n) if *n >= 0 => n.to_string(),
            Token::Float(text) if !text.starts_with('-') => format!("0{text}"),
            _ => return self.unexpected(expected),
        };
        match scale(&text, 1_000_000_000_000, "picoseconds").map(Duration::from_ps) {
            Ok(time) if time <= LONGEST => {
                self.next();
                Ok(time)
            }
            Ok(_) => self.unexpected("a time of at most 1,000,000 s"),
            Err(e) => self.unexpected(&format!("a number of seconds ({e})")),
        }
    }
}
