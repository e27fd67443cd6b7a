//! Encryption: the handshake `NNpsk0` of Noise with a key that both sides have, or `NN` without one (Noise, revision 34, sections 7.4 and 9).
//!
//! No side knows the other without a key: `NN` keeps out whoever only listens, not whoever is in between.

use std::fmt;

use sha2::{Digest, Sha256};
use snow::{Builder, HandshakeState, TransportState};

use super::frame::{Hello, MOST, framed};
use super::{Fault, fault};

/// Handshake with a key.
const WITH_KEY: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Handshake without one.
const WITHOUT_KEY: &str = "Noise_NN_25519_ChaChaPoly_BLAKE2s";
/// Bytes that encryption adds to a message.
pub const TAG: usize = 16;
/// Start of the hashed bytes of a key's name.
const DOMAIN: &[u8] = b"longfat live key 1\0";
/// Start of a key as text.
const PREFIX: &str = "longfat-key-1:";

/// A key of 256 random bits. Neither `Debug` nor any error shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// The hash of a key, by which it is called in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Makes a key of bytes that nobody can guess.
    pub fn new(random: [u8; 32]) -> Self {
        Key(random)
    }

    /// Returns the key's name in the clear.
    pub fn id(&self) -> KeyId {
        KeyId(Sha256::new().chain_update(DOMAIN).chain_update(self.0).finalize().into())
    }

    /// Returns the text by which the key goes to the other host.
    pub fn to_text(&self) -> String {
        self.0.iter().fold(PREFIX.to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }

    /// Reads a key from its text.
    ///
    /// # Errors
    /// Text that is none; it is not repeated.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let digits = text.trim().strip_prefix(PREFIX).map(str::as_bytes).filter(|digits| digits.len() == 64);
        let bytes = digits.and_then(|digits| {
            let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
            digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect::<Option<Vec<u8>>>()
        });
        match bytes.and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => Ok(Key(bytes)),
            None => fault(format!("this is no key: a key is {PREFIX} and 64 hexadecimal digits, as `longfat key new` prints it")),
        }
    }
}

/// A handshake under way.
#[derive(Debug)]
pub struct Handshake(HandshakeState);

impl Handshake {
    /// The client's side, which begins.
    pub fn client(hello: &Hello, key: Option<&Key>) -> Self {
        Handshake(begun(hello, key, true))
    }

    /// The server's side, of a client that said `hello`; `key` is the key of that name.
    pub fn server(hello: &Hello, key: Option<&Key>) -> Self {
        Handshake(begun(hello, key, false))
    }

    /// Returns the next frame to send.
    ///
    /// # Errors
    /// It is the other side's turn.
    pub fn write(&mut self) -> Result<Vec<u8>, Fault> {
        let mut out = [0; 256];
        let len = self.0.write_message(&[], &mut out).map_err(|_| Fault("the handshake is out of order".to_owned()))?;
        Ok(framed(&out[..len]))
    }

    /// Takes in the content of a frame.
    ///
    /// # Errors
    /// Another key, another hello, damage.
    pub fn read(&mut self, frame: &[u8]) -> Result<(), Fault> {
        let mut out = [0; MOST];
        match self.0.read_message(frame, &mut out) {
            // A handshake carries nothing.
            Ok(0) => Ok(()),
            _ => fault("the handshake failed: the other side has another key, or the connection was tampered with"),
        }
    }

    /// Returns the encrypted channel, when both have spoken.
    ///
    /// # Errors
    /// The handshake is not over.
    pub fn finish(self) -> Result<Channel, Fault> {
        let channel = self.0.into_transport_mode().map_err(|_| Fault("the handshake is not over".to_owned()))?;
        Ok(Channel(Box::new(channel)))
    }
}

fn begun(hello: &Hello, key: Option<&Key>, is_client: bool) -> HandshakeState {
    let name = if key.is_some() { WITH_KEY } else { WITHOUT_KEY };
    let prologue = hello.to_bytes();
    let builder = Builder::new(name.parse().expect("it is a pattern of Noise"));
    let builder = builder.prologue(&prologue).expect("it is given once");
    let builder = match key {
        Some(key) => builder.psk(0, &key.0).expect("it is given once"),
        None => builder,
    };
    let state = if is_client { builder.build_initiator() } else { builder.build_responder() };
    state.expect("the pattern has all keys that it needs")
}

/// An encrypted channel.
#[derive(Debug)]
pub struct Channel(Box<TransportState>);

impl Channel {
    /// Returns `payload` as an encrypted frame.
    ///
    /// # Errors
    /// A payload that is too long for one frame.
    pub fn seal(&mut self, payload: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0; payload.len() + TAG];
        match self.0.write_message(payload, &mut out) {
            Ok(len) => Ok(framed(&out[..len])),
            Err(_) => fault(format!("a message of {} bytes does not fit into a frame", payload.len())),
        }
    }

    /// Returns the payload of an encrypted frame.
    ///
    /// # Errors
    /// A frame that the other side has not sent, or not next.
    pub fn open(&mut self, frame: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0; frame.len()];
        match self.0.read_message(frame, &mut out) {
            Ok(len) => {
                out.truncate(len);
                Ok(out)
            }
            Err(_) => fault("a frame was damaged, repeated or out of order"),
        }
    }
}
