//! Tokens: each lets one data connection join the session that it was given to, once, and soon.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Nanos, SECOND};

/// Time for which a token is good, beside the round trips that the path takes.
pub const LIFETIME: Nanos = 10 * SECOND;

/// 16 random bytes; as text, 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub [u8; Token::LEN]);

impl Token {
    /// Bytes of a token.
    pub const LEN: usize = 16;
}

/// It is a secret until it is used: nothing shows it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_one = text.len() == 2 * Token::LEN && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = if is_one { u128::from_str_radix(&text, 16).ok() } else { None };
        number.map(|number| Token(number.to_be_bytes())).ok_or_else(|| de::Error::custom("a token has 32 hexadecimal digits"))
    }
}

/// Whom a token was given to, and its end.
#[derive(Clone, Copy, Debug)]
struct Given {
    session: u64,
    to: IpAddr,
    end: Nanos,
}

/// The tokens that a server has given out.
#[derive(Debug, Default)]
pub struct Tokens {
    given: HashMap<Token, Given>,
}

impl Tokens {
    /// Gives out a token of `session`, whose client is `to`, from bytes that nobody can guess, good for [`LIFETIME`] and `more`.
    pub fn issue(&mut self, now: Nanos, more: Nanos, session: u64, to: IpAddr, random: [u8; Token::LEN]) -> Token {
        self.given.retain(|_, given| given.end > now);
        let token = Token(random);
        self.given.insert(token, Given { session, to, end: now.saturating_add(LIFETIME).saturating_add(more) });
        token
    }

    /// Connections that clients at `address` may still open: the door has to let so many more of them in at once.
    pub fn awaited(&self, now: Nanos, address: IpAddr) -> usize {
        self.given.values().filter(|given| given.to == address && given.end > now).count()
    }

    /// Takes a token back; the session that it was given to. It is good for nothing then.
    pub fn take(&mut self, now: Nanos, token: Token) -> Option<u64> {
        self.given.remove(&token).filter(|given| given.end > now).map(|given| given.session)
    }

    /// Forgets the tokens of `session`.
    pub fn revoke(&mut self, session: u64) {
        self.given.retain(|_, given| given.session != session);
    }
}
