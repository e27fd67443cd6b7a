//! Statements and expressions, by precedence climbing.

use super::words::{Word, words};
use super::{Expr, Kind, Statement, Value};
use crate::place::{Place, SyntaxError};

/// Statements `name += expression`, and the operator of each.
const AUGMENTED: &[(&str, &str)] = &[
    ("+=", "+"),
    ("-=", "-"),
    ("*=", "*"),
    ("/=", "/"),
    ("//=", "//"),
    ("%=", "%"),
    ("**=", "**"),
    ("<<=", "<<"),
    (">>=", ">>"),
    ("&=", "&"),
    ("|=", "|"),
    ("^=", "^"),
];
/// Binary operators of each level, the loosest first; comparisons and looser operators are handled by name.
const LEVELS: &[&[&str]] = &[&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];
/// Statements of Python that are not here.
const KEYWORDS: &[&str] =
    &["if", "for", "while", "def", "import", "from", "try", "with", "class", "return", "del", "global", "pass", "raise", "exec", "async"];
/// Parentheses in parentheses, and lists in lists.
pub(super) const DEEPEST: usize = 32;

/// The statements of `text`, which begins two characters after `start`.
pub(crate) fn parse(text: &str, start: Place) -> Result<Vec<Statement>, SyntaxError> {
    let words = words(text, Place { line: start.line, column: start.column + 2 })?;
    let mut parser = Parser { words, text, at: 0, depth: 0 };
    let mut all = Vec::new();
    loop {
        while matches!(parser.peek(), Word::Newline | Word::Symbol(";")) {
            parser.at += 1;
        }
        if *parser.peek() == Word::End {
            return Ok(all);
        }
        all.push(parser.statement()?);
    }
}

/// `first` alone, or with what follows it.
fn chain(first: Expr, rest: Vec<(&'static str, Expr)>) -> Expr {
    if rest.is_empty() { first } else { Expr::Chain(Box::new(first), rest) }
}

struct Parser<'a> {
    words: Vec<(Word, Place, usize, usize)>,
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Word {
        &self.words[self.at].0
    }

    fn next(&mut self) -> Word {
        let word = self.peek().clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, SyntaxError> {
        let (word, place, start, end) = &self.words[self.at];
        let found = match word {
            Word::End => "the end of the block".to_owned(),
            Word::Newline => "the end of the line".to_owned(),
            _ => format!("`{}`", &self.text[*start..*end]),
        };
        Err(SyntaxError::new(*place, format!("unexpected {found}"), expected.to_owned()))
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let is = matches!(self.peek(), Word::Symbol(s) if *s == symbol);
        if is {
            self.next();
        }
        is
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let is = matches!(self.peek(), Word::Name(n) if n == name);
        if is {
            self.next();
        }
        is
    }

    fn ends(&self) -> bool {
        matches!(self.peek(), Word::Newline | Word::End | Word::Symbol(";"))
    }

    fn statement(&mut self) -> Result<Statement, SyntaxError> {
        let (_, place, start, _) = self.words[self.at];
        let kind = match (self.kind(), self.peek()) {
            (Ok(kind), Word::Newline | Word::End | Word::Symbol(";")) => kind,
            // A statement that cannot continue may be Python all the same.
            (_, Word::Symbol(".")) => self.give_up("methods and attributes"),
            (_, Word::Name(name)) if matches!(name.as_str(), "if" | "else" | "for" | "lambda") => {
                self.give_up("conditions, loops and functions")
            }
            (_, Word::Text(_)) => self.give_up("texts with a prefix"),
            (_, Word::Symbol("[")) => self.give_up("subscripts"),
            (_, Word::Symbol("{" | "}" | ":" | "@")) => self.give_up("dictionaries, slices, annotations and decorators"),
            (Ok(_), _) => return self.unexpected("the end of the statement"),
            (Err(e), _) => return Err(e),
        };
        let end = self.words[self.at].2;
        Ok(Statement { place, text: self.text[start..end].trim().to_owned(), kind })
    }

    /// Skips to the end of the block, since the rest belongs to a statement that is not understood.
    fn give_up(&mut self, what: &str) -> Kind {
        self.at = self.words.len() - 1;
        Kind::Unsupported(format!("{what} in a code block"))
    }

    fn kind(&mut self) -> Result<Kind, SyntaxError> {
        let Word::Name(name) = self.peek().clone() else { return self.unexpected("a statement: assert, print or name = expression") };
        if KEYWORDS.contains(&name.as_str()) {
            return Ok(self.give_up(&format!("`{name}`")));
        }
        self.next();
        match name.as_str() {
            "assert" => {
                let condition = self.expression()?;
                let message = if self.takes(",") { Some(self.expression()?) } else { None };
                Ok(Kind::Assert(condition, message))
            }
            "print" if self.ends() => Ok(Kind::Print(Vec::new())),
            "print" => match self.expression()? {
                // print(a, b) reads as the list it would be in Python 2.
                Expr::List(all) => Ok(Kind::Print(all)),
                first => {
                    let mut all = vec![first];
                    while self.takes(",") {
                        all.push(self.expression()?);
                    }
                    Ok(Kind::Print(all))
                }
            },
            _ => self.assignment(name),
        }
    }

    /// `name = expression`, `name += expression`; `name` is taken.
    fn assignment(&mut self, name: String) -> Result<Kind, SyntaxError> {
        let Word::Symbol(symbol) = *self.peek() else {
            self.at -= 1;
            return self.unexpected("a statement: assert, print or name = expression");
        };
        if let Some((_, operator)) = AUGMENTED.iter().find(|(augmented, _)| *augmented == symbol) {
            self.next();
            let value = Expr::Chain(Box::new(Expr::Name(name.clone())), vec![(operator, self.expression()?)]);
            return Ok(Kind::Assign(name, value));
        }
        match symbol {
            "=" => {
                self.next();
                Ok(Kind::Assign(name, self.expression()?))
            }
            "(" => Ok(self.give_up("calls but print")),
            "," => Ok(self.give_up("assignments to several names")),
            _ => self.unexpected("`=` after a name"),
        }
    }

    fn expression(&mut self) -> Result<Expr, SyntaxError> {
        self.deeper(Self::or)
    }

    /// Parses with `parse`, one level deeper.
    fn deeper(&mut self, parse: fn(&mut Self) -> Result<Expr, SyntaxError>) -> Result<Expr, SyntaxError> {
        if self.depth == DEEPEST {
            return self.unexpected("less nesting");
        }
        self.depth += 1;
        let found = parse(self);
        self.depth -= 1;
        found
    }

    fn or(&mut self) -> Result<Expr, SyntaxError> {
        let (first, mut rest) = (self.and()?, Vec::new());
        while self.takes_name("or") {
            rest.push(("or", self.and()?));
        }
        Ok(chain(first, rest))
    }

    fn and(&mut self) -> Result<Expr, SyntaxError> {
        let (first, mut rest) = (self.not()?, Vec::new());
        while self.takes_name("and") {
            rest.push(("and", self.not()?));
        }
        Ok(chain(first, rest))
    }

    fn not(&mut self) -> Result<Expr, SyntaxError> {
        let mut count = 0;
        while self.takes_name("not") {
            count += 1;
        }
        let inner = self.comparison()?;
        Ok(match count {
            0 => inner,
            // Twice not makes a truth value all the same.
            n if n % 2 == 1 => Expr::Unary("not", Box::new(inner)),
            _ => Expr::Unary("not", Box::new(Expr::Unary("not", Box::new(inner)))),
        })
    }

    fn comparison(&mut self) -> Result<Expr, SyntaxError> {
        let first = self.level(0)?;
        let mut rest = Vec::new();
        loop {
            let operator = if let Some(symbol) = COMPARISONS.iter().find(|s| *self.peek() == Word::Symbol(s)) {
                self.next();
                symbol
            } else if self.takes_name("in") {
                "in"
            } else if self.takes_name("is") {
                if self.takes_name("not") { "!=" } else { "==" }
            } else if self.takes_name("not") {
                if !self.takes_name("in") {
                    return self.unexpected("`in` after `not`");
                }
                "not in"
            } else {
                break;
            };
            rest.push((operator, self.level(0)?));
        }
        Ok(if rest.is_empty() { first } else { Expr::Compare(Box::new(first), rest) })
    }

    fn level(&mut self, level: usize) -> Result<Expr, SyntaxError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let (first, mut rest) = (self.level(level + 1)?, Vec::new());
        while let Some(operator) = operators.iter().find(|o| *self.peek() == Word::Symbol(o)) {
            self.next();
            rest.push((*operator, self.level(level + 1)?));
        }
        Ok(chain(first, rest))
    }

    fn unary(&mut self) -> Result<Expr, SyntaxError> {
        let mut signs = Vec::new();
        while let Some(sign) = ["-", "+", "~"].into_iter().find(|s| *self.peek() == Word::Symbol(s)) {
            if signs.len() == DEEPEST {
                return self.unexpected("fewer signs");
            }
            self.next();
            signs.push(sign);
        }
        let base = self.atom()?;
        let inner = if self.takes("**") { chain(base, vec![("**", self.deeper(Self::unary)?)]) } else { base };
        Ok(signs.into_iter().rev().fold(inner, |inner, sign| Expr::Unary(sign, Box::new(inner))))
    }

    fn atom(&mut self) -> Result<Expr, SyntaxError> {
        match self.peek().clone() {
            Word::Number(value) => {
                self.next();
                Ok(Expr::Literal(value))
            }
            Word::Text(mut text) => {
                self.next();
                // Texts side by side are one.
                while let Word::Text(more) = self.peek().clone() {
                    self.next();
                    text.push_str(&more);
                }
                Ok(Expr::Literal(Value::Text(text)))
            }
            Word::Name(name) => {
                self.next();
                match name.as_str() {
                    "True" => Ok(Expr::Literal(Value::Bool(true))),
                    "False" => Ok(Expr::Literal(Value::Bool(false))),
                    "None" => Ok(Expr::Literal(Value::None)),
                    "and" | "or" | "in" | "is" | "not" | "if" | "else" | "for" | "lambda" | "assert" | "print" => {
                        self.at -= 1;
                        self.unexpected("a value")
                    }
                    _ if self.takes("(") => Ok(Expr::Call(name, self.items(")")?.0)),
                    _ => Ok(Expr::Name(name)),
                }
            }
            Word::Symbol("(") => {
                self.next();
                match self.items(")")? {
                    (mut one, false) if one.len() == 1 => Ok(one.remove(0)),
                    (all, _) => Ok(Expr::List(all)),
                }
            }
            Word::Symbol("[") => {
                self.next();
                Ok(Expr::List(self.items("]")?.0))
            }
            _ => self.unexpected("a value"),
        }
    }

    /// Expressions with commas between, to `end`; whether there was a comma.
    fn items(&mut self, end: &str) -> Result<(Vec<Expr>, bool), SyntaxError> {
        let mut all = Vec::new();
        let mut comma = false;
        while !self.takes(end) {
            all.push(self.expression()?);
            if !matches!(self.peek(), Word::Symbol(s) if *s == end) {
                if !self.takes(",") {
                    return self.unexpected(&format!("`,` or `{end}`"));
                }
                comma = true;
            }
        }
        Ok((all, comma))
    }
}
