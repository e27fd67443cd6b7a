//! Attacks on whatever reads bytes of others: damaged, reordered, repeated and lost messages, frames and datagrams. `make torture` and the tests
//! run them, each input by a generator of random numbers, so that a seed tells a case again. [`session`] attacks the control protocol, [`others`]
//! the protocols beside it.

mod others;
mod session;

use super::Token;

/// Names of all attacks.
pub const ATTACKS: [&str; 6] = ["states", "messages", "frames", "stamp", "iperf", "survey"];

/// Runs the attack of this name, with this seed and so many inputs.
///
/// # Errors
/// A promise that was broken, and a name that no attack has.
pub fn attack(name: &str, seed: u64, inputs: u64) -> Result<(), String> {
    let draw = &mut Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match name {
        "states" => session::states(draw, inputs),
        "messages" => session::messages(draw, inputs),
        "frames" => session::frames(draw, inputs),
        "stamp" => others::stamps(draw, inputs),
        "iperf" => others::iperfs(draw, inputs),
        "survey" => others::surveys(draw, inputs),
        _ => Err(format!("there is no attack {name}")),
    }
}

/// Generator of random numbers (Marsaglia 2003, xorshift64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 11) % end.max(1) as u64) as usize
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn number(&mut self) -> u64 {
        let shift = self.below(64);
        self.next() >> shift
    }
}

fn holds(is_so: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what()) }
}

/// Changes one to three places of `bytes`.
fn damage(draw: &mut Draw, bytes: &mut Vec<u8>) {
    const WORDS: [&str; 15] = [
        "null",
        "-1",
        "0",
        "1e400",
        "18446744073709551616",
        "18446744073709551615",
        "\"\"",
        "[",
        "]",
        "{",
        "}",
        "{\"offer\":",
        ",",
        "\\u0000",
        "\u{7f}",
    ];
    for _ in 0..=draw.below(3) {
        let at = draw.below(bytes.len() + 1);
        let to = at + draw.below(bytes.len() - at + 1);
        match draw.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << draw.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, draw.pick(&WORDS).bytes())),
            3 => drop(bytes.drain(at..to)),
            4 if at < bytes.len() => bytes[at] = draw.next() as u8,
            _ => {
                // A copy of a copy of a large piece would soon be all of the memory.
                let copy = bytes[at..to.min(at + 4096)].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
}

const NONCE: Token = Token([3; Token::LEN]);
