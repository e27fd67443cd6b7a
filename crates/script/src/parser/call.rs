//! System calls, as strace prints them.

use super::Parser;
use crate::lexer::Token;
use crate::place::SyntaxError;
use crate::syntax::{Call, Expression};

/// Lists in lists in lists: no call needs more.
const DEEPEST: usize = 16;

impl Parser {
    pub(super) fn call(&mut self) -> Result<Call, SyntaxError> {
        let end = if *self.peek() == Token::Ellipsis {
            self.next();
            self.takes('+');
            Some(self.time("when the call returns, in seconds")?)
        } else {
            None
        };
        let name = self.word("the name of a system call")?;
        self.expect('(', "the name of a system call")?;
        let arguments = self.list(')')?;
        self.expect('=', "the arguments of a system call")?;
        let result = self.expression()?;
        let errno = if matches!(self.peek(), Token::Word(_)) { Some(self.word("an error name")?) } else { None };
        if self.takes('(') {
            self.note()?;
        }
        Ok(Call { end, name, arguments, result, errno })
    }

    /// Skips the words of an error, which are not checked.
    fn note(&mut self) -> Result<(), SyntaxError> {
        while !self.takes(')') {
            match self.peek() {
                Token::End | Token::Command(_) | Token::Code(_) | Token::Setting(..) => {
                    return self.unexpected("`)` after the words of an error");
                }
                _ => self.next(),
            };
        }
        Ok(())
    }

    /// Expressions with commas between, to `end`.
    fn list(&mut self, end: char) -> Result<Vec<Expression>, SyntaxError> {
        let mut all = Vec::new();
        if self.takes(end) {
            return Ok(all);
        }
        loop {
            all.push(self.expression()?);
            if self.takes(end) {
                return Ok(all);
            }
            if !self.takes(',') {
                return self.unexpected(&format!("`,` and another, or `{end}`"));
            }
        }
    }

    fn expression(&mut self) -> Result<Expression, SyntaxError> {
        if self.depth == DEEPEST {
            return self.unexpected("less nesting");
        }
        self.depth += 1;
        let first = self.operand();
        self.depth -= 1;
        let first = first?;
        if *self.peek() != Token::Mark('|') {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.takes('|') {
            all.push(self.operand()?);
        }
        Ok(Expression::Or(all))
    }

    fn operand(&mut self) -> Result<Expression, SyntaxError> {
        match self.peek().clone() {
            Token::Ellipsis => {
                self.next();
                Ok(Expression::Anything)
            }
            Token::Integer(n) => {
                self.next();
                Ok(Expression::Integer(n))
            }
            Token::Text(text) => {
                self.next();
                if *self.peek() == Token::Ellipsis {
                    self.next();
                }
                Ok(Expression::Text(text))
            }
            Token::Word(word) => {
                self.next();
                if self.takes('(') { Ok(Expression::Applied(word, self.list(')')?)) } else { Ok(Expression::Word(word)) }
            }
            // An argument in which a call stores a value.
            Token::Mark('&') => {
                self.next();
                self.word("a name after `&`").map(Expression::Word)
            }
            Token::Mark('[') => {
                self.next();
                Ok(Expression::List(self.list(']')?))
            }
            Token::Mark('{') => {
                self.next();
                self.record()
            }
            _ => self.unexpected("`...`, a number, a word, a text, a list in `[ ]` or fields in `{ }`"),
        }
    }

    /// `{fd=4, events=POLLIN}`, `{..., 1000}`, `{msg_name(...)=..., ...}`, `{..., inet_pton(AF_INET6, "::1", &sin6_addr)}`.
    fn record(&mut self) -> Result<Expression, SyntaxError> {
        let mut fields = Vec::new();
        while !self.takes('}') {
            let field = if matches!(self.peek(), Token::Word(_)) && matches!(self.peek_at(1), Token::Mark('=' | '(')) {
                let name = self.word("the name of a field")?;
                let arguments = if self.takes('(') { Some(self.list(')')?) } else { None };
                match arguments {
                    // strace(1) prints an IPv6 address as the call that made it, and no field.
                    Some(arguments) if *self.peek() != Token::Mark('=') => (String::new(), Expression::Applied(name, arguments)),
                    _ => {
                        self.expect('=', "the name of a field")?;
                        (name, self.expression()?)
                    }
                }
            } else {
                (String::new(), self.expression()?)
            };
            fields.push(field);
            if *self.peek() != Token::Mark('}') {
                self.expect(',', "a field")?;
            }
        }
        Ok(Expression::Record(fields))
    }
}
