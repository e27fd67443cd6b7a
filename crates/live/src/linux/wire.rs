//! A control connection: hello, handshake, and messages in encrypted frames. A thread reads; whoever has the [`Control`] writes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::protocol::frame::MOST_IN_HANDSHAKE;
use crate::protocol::{Channel, Fault, Frames, Handshake, Hello, Key, Message, Nanos};

/// Time for which one write may be stuck. The states bound how long all of it takes.
const STUCK: Duration = Duration::from_secs(30);
/// Bytes of one read.
const PIECE: usize = 1 << 14;

/// Writing half of a control connection, and what encrypts both.
#[derive(Debug)]
pub(crate) struct Control {
    stream: TcpStream,
    channel: Channel,
}

/// Fills `bytes` by `deadline`, however slowly they come.
pub(crate) fn fill(stream: &mut TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut have = 0;
    while have < bytes.len() {
        have += some(stream, &mut bytes[have..], deadline)?;
    }
    Ok(())
}

/// Reads what comes first, by `deadline`; the end of the stream is an error.
fn some(stream: &mut TcpStream, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(into) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => return Ok(len),
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Reads one frame of the handshake. It takes no more than its bytes.
fn frame(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut len = [0; 2];
    fill(stream, &mut len, deadline)?;
    let len = usize::from(u16::from_be_bytes(len));
    if len > MOST_IN_HANDSHAKE {
        return Err(fault(&Fault(format!("a frame of {len} bytes came in the handshake"))));
    }
    let mut bytes = vec![0; len];
    fill(stream, &mut bytes, deadline)?;
    Ok(bytes)
}

fn fault(fault: &Fault) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, fault.0.clone())
}

impl Control {
    /// Does the client's side of the handshake on a new connection, by `deadline`.
    pub(crate) fn client(mut stream: TcpStream, key: Option<&Key>, deadline: Instant) -> io::Result<Self> {
        let hello = Hello::new(key.map(Key::id));
        let mut handshake = Handshake::client(&hello, key);
        stream.set_nodelay(true)?;
        stream.write_all(&[hello.to_bytes().to_vec(), handshake.write().map_err(|e| fault(&e))?].concat())?;
        handshake.read(&frame(&mut stream, deadline)?).map_err(|e| fault(&e))?;
        Control::new(stream, handshake)
    }

    /// Does the server's side of the handshake, of a client that said `hello`.
    pub(crate) fn server(mut stream: TcpStream, hello: &Hello, key: Option<&Key>, deadline: Instant) -> io::Result<Self> {
        let mut handshake = Handshake::server(hello, key);
        handshake.read(&frame(&mut stream, deadline)?).map_err(|e| fault(&e))?;
        stream.set_nodelay(true)?;
        stream.write_all(&handshake.write().map_err(|e| fault(&e))?)?;
        Control::new(stream, handshake)
    }

    fn new(stream: TcpStream, handshake: Handshake) -> io::Result<Self> {
        let channel = handshake.finish().map_err(|e| fault(&e))?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(STUCK))?;
        Ok(Control { stream, channel })
    }

    /// Returns the connection, to read from.
    pub(crate) fn reader(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Returns the address of this side.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// Returns the address of the other side.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.stream.peer_addr().ok()
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Message) -> io::Result<()> {
        let sealed = message.to_bytes().and_then(|bytes| self.channel.seal(&bytes)).map_err(|e| fault(&e))?;
        self.stream.write_all(&sealed)
    }

    /// Reads a message from its frame.
    pub(crate) fn open(&mut self, frame: &[u8]) -> Result<Message, Fault> {
        Message::parse(&self.channel.open(frame)?)
    }

    /// Ends the connection: the thread that reads ends as well.
    pub(crate) fn close(&self) {
        // One that is gone needs no end.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Hands each frame that comes to `take` until the connection is over, or `take` says `false`.
pub(crate) fn read_frames(mut stream: TcpStream, mut take: impl FnMut(Vec<u8>) -> bool) {
    let (mut frames, mut bytes) = (Frames::default(), vec![0; PIECE]);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(len) => frames.take(&bytes[..len]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
        while let Ok(Some(frame)) = frames.next(crate::protocol::frame::MOST) {
            if !take(frame) {
                return;
            }
        }
    }
}

/// The clock of a process: nanoseconds since `zero`.
pub(crate) fn nanos(zero: Instant) -> Nanos {
    u64::try_from(zero.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
}

/// The sentence for a handshake that failed with `error`.
pub(crate) fn why_not(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidData => error.to_string(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it closed the connection in the handshake: it does not know this key, lets nobody in without one (`--key`), or is busy with others"
                .to_owned()
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            "it did not answer the handshake: is it `longfat serve`, and is the key the same?".to_owned()
        }
        _ => error.to_string(),
    }
}
