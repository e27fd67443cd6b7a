//! Framing: a length of 16 bits before each frame, and the hello that comes before all frames.

use super::noise::KeyId;
use super::{Fault, VERSION, fault};

/// First bytes of a control connection.
pub const CONTROL_MAGIC: [u8; 4] = *b"lfc\n";
/// First bytes of a data connection; a token follows.
pub const DATA_MAGIC: [u8; 4] = *b"lfd\n";
/// Most bytes of a frame of the handshake.
pub const MOST_IN_HANDSHAKE: usize = 4096;
/// Most bytes of a frame (Noise, section 3: 65,535 bytes).
pub const MOST: usize = u16::MAX as usize;

/// First words of a client, in the clear; the handshake covers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the protocol.
    pub version: u8,
    /// The key that the client has; `None`: it has none, and asks for what an open server gives.
    pub key: Option<KeyId>,
}

impl Hello {
    /// Bytes of a hello.
    pub const LEN: usize = 4 + 1 + 32;

    /// Returns the hello of this version.
    pub fn new(key: Option<KeyId>) -> Self {
        Hello { version: VERSION, key }
    }

    /// Returns its bytes. A missing key is all zeros.
    pub fn to_bytes(self) -> [u8; Hello::LEN] {
        let mut bytes = [0; Hello::LEN];
        bytes[..4].copy_from_slice(&CONTROL_MAGIC);
        bytes[4] = self.version;
        bytes[5..].copy_from_slice(&self.key.map_or([0; 32], |key| key.0));
        bytes
    }

    /// Reads a hello.
    ///
    /// # Errors
    /// Bytes that are none, and another version.
    pub fn parse(bytes: &[u8; Hello::LEN]) -> Result<Self, Fault> {
        if bytes[..4] != CONTROL_MAGIC {
            return fault("this is no control connection of longfat");
        }
        if bytes[4] != VERSION {
            return fault(format!("the other side speaks version {} of the protocol, this side version {VERSION}", bytes[4]));
        }
        let mut key = [0; 32];
        key.copy_from_slice(&bytes[5..]);
        Ok(Hello { version: bytes[4], key: (key != [0; 32]).then_some(KeyId(key)) })
    }
}

/// Returns `payload` as a frame.
///
/// # Panics
/// If it is longer than [`MOST`].
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).expect("a frame has at most 65,535 bytes");
    [&len.to_be_bytes(), payload].concat()
}

/// Frames of a stream of bytes.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
}

impl Frames {
    /// Takes in the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole frame of at most `most` bytes, if it is there.
    ///
    /// # Errors
    /// A frame that says that it is longer.
    pub fn next(&mut self, most: usize) -> Result<Option<Vec<u8>>, Fault> {
        let Some(len) = self.buffer.first_chunk::<2>() else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes(*len));
        if len > most {
            return fault(format!("a frame of {len} bytes came where at most {most} may"));
        }
        if self.buffer.len() < 2 + len {
            return Ok(None);
        }
        let frame = self.buffer[2..2 + len].to_vec();
        self.buffer.drain(..2 + len);
        Ok(Some(frame))
    }
}
