//! Reachability of a client by datagrams: nobody is sent any who has not shown, in three steps, that it is there and wants them.
//!
//! 1. The client sends the token of its session from the very address and port that is to get them.
//! 2. The server answers with a nonce, in as many bytes.
//! 3. The client returns the nonce over the control channel.
//!
//! A forged source gets at most the bytes that it pretended to send, and cannot return what it has not got (RFC 9000 §8.1 and §8.2 have the same for
//! QUIC).

use std::collections::HashMap;
use std::net::SocketAddr;

use super::Nanos;
use super::token::{LIFETIME, Token};

/// First bytes of a question, and of its answer.
pub const REACH_MAGIC: [u8; 4] = *b"lfu\n";
/// Bytes of a question, and of its answer.
pub const QUESTION: usize = REACH_MAGIC.len() + Token::LEN;

/// A token that was given out.
#[derive(Clone, Copy, Debug)]
struct Given {
    session: u64,
    end: Nanos,
    /// Address that has shown it first, and the nonce for it.
    asked: Option<(SocketAddr, Token)>,
}

/// Tokens for datagrams that a server has given out.
#[derive(Debug, Default)]
pub struct Reach {
    given: HashMap<Token, Given>,
}

/// Returns `token` or nonce as a datagram.
pub fn datagram(token: Token) -> [u8; QUESTION] {
    let mut bytes = [0; QUESTION];
    bytes[..REACH_MAGIC.len()].copy_from_slice(&REACH_MAGIC);
    bytes[REACH_MAGIC.len()..].copy_from_slice(&token.0);
    bytes
}

/// Returns the token or nonce of a datagram, if it is one.
pub fn of_datagram(bytes: &[u8]) -> Option<Token> {
    bytes.strip_prefix(&REACH_MAGIC)?.try_into().ok().map(Token)
}

impl Reach {
    /// Gives out a token of `session` from bytes that nobody can guess, good for [`LIFETIME`] and `more`.
    pub fn issue(&mut self, now: Nanos, more: Nanos, session: u64, random: [u8; Token::LEN]) -> Token {
        self.given.retain(|_, given| given.end > now);
        let token = Token(random);
        self.given.insert(token, Given { session, end: now.saturating_add(LIFETIME).saturating_add(more), asked: None });
        token
    }

    /// Returns the answer to the datagram `bytes` from `from`; `None`: there is none. The first address that shows a token has it: the same
    /// question has the same answer, and others have none. `random` draws a nonce.
    pub fn answer(
        &mut self,
        now: Nanos,
        from: SocketAddr,
        bytes: &[u8],
        random: impl FnOnce() -> Option<[u8; Token::LEN]>,
    ) -> Option<[u8; QUESTION]> {
        let given = self.given.get_mut(&of_datagram(bytes)?).filter(|given| given.end > now)?;
        if given.asked.is_none() {
            given.asked = Some((from, Token(random()?)));
        }
        given.asked.filter(|(address, _)| *address == from).map(|(_, nonce)| datagram(nonce))
    }

    /// Takes back the nonce of `session`; the address that it was sent to. Its token is good for nothing then.
    pub fn returned(&mut self, now: Nanos, session: u64, nonce: Token) -> Option<SocketAddr> {
        let is = |given: &Given| given.session == session && given.end > now && given.asked.is_some_and(|(_, sent)| sent == nonce);
        let token = self.given.iter().find(|(_, given)| is(given)).map(|(token, _)| *token)?;
        self.given.remove(&token)?.asked.map(|(address, _)| address)
    }

    /// Forgets the tokens of `session`.
    pub fn revoke(&mut self, session: u64) {
        self.given.retain(|_, given| given.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SESSION: u64 = 7;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn three_steps_reach_one_address_once() {
        let mut reach = Reach::default();
        let token = reach.issue(0, 0, SESSION, [1; 16]);
        let question = datagram(token);
        let answer = reach.answer(1, at(5), &question, || Some([2; 16])).unwrap();
        assert_eq!(reach.answer(2, at(5), &question, || Some([3; 16])), Some(answer), "a question that was lost is put again");
        assert_eq!(reach.answer(3, at(6), &question, || Some([3; 16])), None, "another address, or port");
        let nonce = of_datagram(&answer).unwrap();
        assert_eq!([reach.returned(4, SESSION + 1, nonce), reach.returned(4, SESSION, token)], [None, None]);
        assert_eq!([reach.returned(4, SESSION, nonce), reach.returned(4, SESSION, nonce)], [Some(at(5)), None]);
        assert_eq!(reach.answer(5, at(5), &question, || Some([3; 16])), None, "used");
    }

    #[test]
    fn tokens_end() {
        let mut reach = Reach::default();
        let late = datagram(reach.issue(0, 5, SESSION, [1; 16]));
        let answer = reach.answer(LIFETIME + 4, at(5), &late, || Some([2; 16])).unwrap();
        assert_eq!(reach.answer(LIFETIME + 5, at(5), &late, || None), None);
        assert_eq!(reach.returned(LIFETIME + 5, SESSION, of_datagram(&answer).unwrap()), None);
        let revoked = datagram(reach.issue(0, 0, SESSION, [4; 16]));
        reach.revoke(SESSION);
        assert_eq!(reach.answer(1, at(5), &revoked, || Some([2; 16])), None);
    }

    proptest! {
        /// Whatever comes, no answer is longer than its question, and whoever has no token has none.
        #[test]
        fn nothing_is_amplified(bytes in prop::collection::vec(any::<u8>(), 0..64), shows: bool, port: u16) {
            let mut reach = Reach::default();
            let token = reach.issue(0, 0, SESSION, [9; 16]);
            let question = if shows { [&datagram(token)[..], &bytes].concat() } else { bytes.clone() };
            let answer = reach.answer(1, at(port), &question, || Some([8; 16]));
            prop_assert!(answer.is_none_or(|answer| answer.len() <= question.len()));
            prop_assert_eq!(answer.is_some(), shows && bytes.is_empty());
        }
    }
}
