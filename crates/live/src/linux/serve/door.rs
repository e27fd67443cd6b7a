//! The door of a server: each connection that comes has its own thread until it is known, and few may be unknown at once.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::books::Shared;
use super::session::{Input, Session};
use super::{STACK, TICK};
use crate::linux::data::OPENING;
use crate::linux::wire::{Control, fill};
use crate::protocol::limits::HANDSHAKE;
use crate::protocol::{DATA_MAGIC, Hello, KeyId, Nanos, Token, Who};

/// Takes the connections that come, until the server stops.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>, says: &Sender<String>) {
    let timeout = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
    while !shared.stop.load(Relaxed) {
        let Ok((stream, from)) = listener.accept() else {
            let _ = poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout);
            continue;
        };
        let mut books = shared.books();
        let (now, from_ip) = (shared.now(), from.ip());
        let awaited = books.tokens.awaited(now, from_ip);
        let is_let = books.ledger.begin_handshake(now, from_ip, awaited);
        drop(books);
        if !is_let {
            continue;
        }
        let (of, says) = (Arc::clone(shared), says.clone());
        shared.threads.fetch_add(1, Relaxed);
        let named = thread::Builder::new().name("connection".to_owned()).stack_size(STACK);
        let started = named.spawn(move || {
            greet(&of, stream, from, &says);
            of.threads.fetch_sub(1, Relaxed);
        });
        if started.is_err() {
            shared.threads.fetch_sub(1, Relaxed);
            shared.books().ledger.end_handshake(from.ip());
        }
    }
}

/// Finds out what a connection is: control, data, or nothing of ours.
fn greet(shared: &Arc<Shared>, mut stream: TcpStream, from: SocketAddr, says: &Sender<String>) {
    let deadline = Instant::now() + Duration::from_nanos(HANDSHAKE);
    let over = || shared.books().ledger.end_handshake(from.ip());
    let mut magic = [0; 4];
    if stream.set_nonblocking(false).is_err() || fill(&mut stream, &mut magic, deadline).is_err() {
        return over();
    }
    if magic == DATA_MAGIC {
        let mut token = [0; OPENING - 4];
        let is_whole = fill(&mut stream, &mut token, deadline).is_ok();
        over();
        let token = Token(token);
        let mut books = shared.books();
        let now = shared.now();
        if let Some(session) = is_whole.then(|| books.tokens.take(now, token)).flatten()
            && let Some(to) = books.sessions.get(&session).cloned()
        {
            drop(books);
            // A session that is over has no use for it.
            let _ = to.send(Input::Data(token, stream));
        }
        return;
    }
    let begun = Instant::now();
    let shaken = shake(shared, &mut stream, magic, deadline);
    over();
    let Some((control, who, name)) = shaken.map(|(control, key, name)| (control, Who { key, address: from.ip() }, name)) else { return };
    let rtt = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(Nanos::MAX);
    let (line, why) = Session::new(shared, control, who, rtt).map_or_else(|e| (String::new(), e.to_string()), Session::run);
    let why = if why.is_empty() { "ended well".to_owned() } else { why };
    let _ = says.send(format!("{} {name}: {line}{why}", from.ip().to_canonical()));
}

/// The handshake of a client, its key, and the name of that.
fn shake(shared: &Shared, stream: &mut TcpStream, magic: [u8; 4], deadline: Instant) -> Option<(Control, Option<KeyId>, String)> {
    let mut hello = [0; Hello::LEN];
    hello[..4].copy_from_slice(&magic);
    fill(stream, &mut hello[4..], deadline).ok()?;
    let hello = Hello::parse(&hello).ok()?;
    let (key, name) = match hello.key {
        Some(id) => shared.keys.get(&id).map(|(name, key)| (Some(key), format!("key {name}")))?,
        None if shared.open => (None, "no key".to_owned()),
        None => return None,
    };
    let control = Control::server(stream.try_clone().ok()?, &hello, key, deadline).ok()?;
    Some((control, hello.key, name))
}
