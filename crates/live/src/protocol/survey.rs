//! Datagrams of a survey. The client asks by numbered questions of any size, and each says how long its answer is to be: never longer than the
//! question. Bursts toward the client are the one exception: they go to an address that has been reached, and count as bytes of the session.

use super::Nanos;
use super::token::Token;

/// Bytes of a question without what fills it up.
pub const QUESTION: usize = Token::LEN + 16;
/// Bytes of an answer without what fills it up.
pub const ANSWER: usize = Token::LEN + 24;
/// Arrivals of a burst that each of its answers tells of.
pub const TOLD: usize = 8;
/// Bytes of an answer to a packet of a burst.
pub const REPORT: usize = ANSWER + 12 * TOLD;
/// Place of the number in a question: an ICMP message that quotes so much says which question it is about.
pub const NUMBER: std::ops::Range<usize> = Token::LEN + 4..Token::LEN + 8;

/// Kind of a question, and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answer at once.
    Echo,
    /// A packet of the burst `a`: answer when it came, and when those before it did.
    Burst,
    /// Send `a` packets of the asked length, `b` nanoseconds apart: once for each number.
    Train,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Echo, Kind::Burst, Kind::Train];

    fn of(byte: u8) -> Option<Self> {
        Kind::ALL.get(usize::from(byte)).copied()
    }
}

/// Question of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Kind.
    pub kind: Kind,
    /// Octet of codepoint and ECN that the answer is to have.
    pub tos: u8,
    /// Bytes of the answer: UDP payload.
    pub answer: u16,
    /// Number.
    pub number: u32,
    /// See [`Kind`].
    pub a: u32,
    /// See [`Kind`].
    pub b: u32,
}

impl Question {
    /// Writes the question, with the nonce of its session, to the front of `bytes`.
    ///
    /// # Panics
    /// If there is no room for [`QUESTION`] bytes.
    pub fn write(&self, nonce: Token, bytes: &mut [u8]) {
        let [high, low] = self.answer.to_be_bytes();
        bytes[..Token::LEN].copy_from_slice(&nonce.0);
        bytes[Token::LEN..NUMBER.start].copy_from_slice(&[self.kind as u8, self.tos, high, low]);
        bytes[NUMBER].copy_from_slice(&self.number.to_be_bytes());
        bytes[NUMBER.end..NUMBER.end + 4].copy_from_slice(&self.a.to_be_bytes());
        bytes[NUMBER.end + 4..QUESTION].copy_from_slice(&self.b.to_be_bytes());
    }

    /// Reads a question of the session with this nonce.
    pub fn parse(nonce: Token, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&nonce.0)?;
        let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let [kind, tos, high, low] = *rest.first_chunk()?;
        let (a, b) = (number(8)?, number(12)?);
        Some(Question { kind: Kind::of(kind)?, tos, answer: u16::from_be_bytes([high, low]), number: number(4)?, a, b })
    }

    /// Returns the bytes of the answer to this question, which came with `len` bytes: no more than these.
    pub fn answered(&self, len: usize) -> usize {
        let least = if self.kind == Kind::Burst { REPORT } else { ANSWER };
        least.max(usize::from(self.answer)).min(len)
    }
}

/// Answer of a server, or a packet of a train.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Kind of its question.
    pub kind: Kind,
    /// Octet of codepoint and ECN with which the question came.
    pub tos: u8,
    /// TTL with which it came.
    pub ttl: u8,
    /// Number of the question, or of the packet in its train.
    pub number: u32,
    /// Time at which the question came, on the server's clock; of a packet in a train: the number of the question.
    pub came: Nanos,
    /// Time at which this left, on the server's clock.
    pub left: Nanos,
    /// Arrivals of the burst: number and time, the last ones first.
    pub told: Vec<(u32, Nanos)>,
}

impl Answer {
    /// Writes the answer, with the nonce of its session, to the front of `bytes`; arrivals that find no room are left out.
    ///
    /// # Panics
    /// If there is no room for [`ANSWER`] bytes.
    pub fn write(&self, nonce: Token, bytes: &mut [u8]) {
        let room = self.told.len().min(TOLD).min((bytes.len() - ANSWER) / 12);
        bytes[..Token::LEN].copy_from_slice(&nonce.0);
        bytes[Token::LEN..NUMBER.start].copy_from_slice(&[self.kind as u8, self.tos, self.ttl, room as u8]);
        bytes[NUMBER].copy_from_slice(&self.number.to_be_bytes());
        bytes[NUMBER.end..NUMBER.end + 8].copy_from_slice(&self.came.to_be_bytes());
        bytes[NUMBER.end + 8..ANSWER].copy_from_slice(&self.left.to_be_bytes());
        for (to, (number, came)) in bytes[ANSWER..].chunks_exact_mut(12).zip(&self.told[..room]) {
            to[..4].copy_from_slice(&number.to_be_bytes());
            to[4..].copy_from_slice(&came.to_be_bytes());
        }
    }

    /// Reads an answer of the session with this nonce.
    pub fn parse(nonce: Token, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&nonce.0)?;
        let [kind, tos, ttl, told] = *rest.first_chunk()?;
        let number = |bytes: &[u8]| Some(u32::from_be_bytes(*bytes.first_chunk()?));
        let time = |bytes: &[u8]| Some(u64::from_be_bytes(*bytes.first_chunk()?));
        let arrivals = rest.get(24..)?.chunks_exact(12).take(usize::from(told).min(TOLD));
        let told = arrivals.map(|arrival| Some((number(arrival)?, time(&arrival[4..])?))).collect::<Option<_>>()?;
        Some(Answer {
            kind: Kind::of(kind)?,
            tos,
            ttl,
            number: number(&rest[4..])?,
            came: time(&rest[8..])?,
            left: time(&rest[16..])?,
            told,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONCE: Token = Token([7; Token::LEN]);

    fn kind() -> impl Strategy<Value = Kind> {
        (0..3_u8).prop_map(|byte| Kind::of(byte).unwrap())
    }

    proptest! {
        #[test]
        fn both_come_as_they_were_written(
            kind in kind(), tos: u8, ttl: u8, answer: u16, number: u32, a: u32, b: u32, came: u64, left: u64,
            told in prop::collection::vec(any::<(u32, u64)>(), 0..=TOLD), more in 0..100_usize,
        ) {
            let question = Question { kind, tos, answer, number, a, b };
            let mut bytes = vec![0; QUESTION + more];
            question.write(NONCE, &mut bytes);
            prop_assert_eq!(Question::parse(NONCE, &bytes), Some(question));
            prop_assert_eq!(&bytes[NUMBER], &number.to_be_bytes()[..]);
            let answer = Answer { kind, tos, ttl, number, came, left, told };
            let mut bytes = vec![0; REPORT + more];
            answer.write(NONCE, &mut bytes);
            prop_assert_eq!(Answer::parse(NONCE, &bytes), Some(answer));
        }

        /// Whatever comes: without the nonce it is nothing, and no answer is longer than its question.
        #[test]
        fn nothing_is_amplified(bytes in prop::collection::vec(any::<u8>(), 0..200), knows: bool) {
            let bytes = if knows { [&NONCE.0[..], &bytes].concat() } else { bytes };
            let question = Question::parse(NONCE, &bytes);
            prop_assert!(knows || question.is_none());
            prop_assert!(question.is_none_or(|question| question.answered(bytes.len()) <= bytes.len()));
            let _ = Answer::parse(NONCE, &bytes);
        }
    }

    #[test]
    fn arrivals_that_find_no_room_are_left_out() {
        let answer = Answer { kind: Kind::Burst, tos: 0, ttl: 64, number: 5, came: 1, left: 2, told: vec![(5, 1), (4, 0)] };
        let mut bytes = vec![0; ANSWER + 20];
        answer.write(NONCE, &mut bytes);
        assert_eq!(Answer::parse(NONCE, &bytes).unwrap().told, [(5, 1)]);
        assert_eq!(Answer::parse(NONCE, &bytes[..ANSWER - 1]), None);
    }
}
