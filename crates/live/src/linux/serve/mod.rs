//! The server: one port for control and data ([`door`], [`session`]), with what all its threads share ([`books`]).

mod books;
mod door;
mod session;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use self::books::{Books, Shared};
use crate::Error;
use crate::linux::confine::confine;
use crate::linux::{keys, probe, stamp};
use crate::options::{Said, ServeOptions};
use crate::protocol::{Beside, Ledger, Limits, Reach, Tokens};

/// Time between two looks at the clock and the queue; the caller has four of them.
const TICK: Duration = Duration::from_millis(50);
/// Time for which a server that ends waits for its sessions.
const PATIENCE: Duration = Duration::from_secs(3);
/// Connections that may wait for the door. The kernel takes no more than `net.core.somaxconn`, 4096 since Linux 5.4 (listen(2)).
const BACKLOG: i32 = 4096;
/// Stack of a thread that does a handshake, which needs a frame's room.
const STACK: usize = 512 << 10;

/// Listens, and lets clients measure, until `go_on` says `false`: it is called several times a second, and with each line.
///
/// # Errors
/// A port that is taken, and options without any client.
pub fn serve(options: ServeOptions, go_on: &mut dyn FnMut(Said) -> bool) -> Result<(), Error> {
    let serves = !options.keys.is_empty() || options.open;
    if !serves && options.stamp.is_none() {
        return Err(Error::Key("nobody could come in: name a key with `--key NAME`, or let everybody in with `--open`".to_owned()));
    }
    let listener = listen(options.bind, options.port)?;
    let port = listener.local_addr().map_err(|e| Error::system("the port of the server", e))?.port();
    let reflector = options.stamp.clone().map(|stamp| stamp::listen(options.bind, stamp)).transpose()?;
    // Neither this process nor anything it starts gets rights that it has not (prctl(2), PR_SET_NO_NEW_PRIVS).
    nix::sys::prctl::set_no_new_privs().map_err(|e| Error::system("no_new_privs could not be set", e))?;
    // Before any thread starts: each has the bounds of the one that starts it.
    let unconfined = confine(&options.readable);
    let shared = Arc::new(Shared {
        keys: options.keys.into_iter().map(|(name, key)| (key.id(), (name, key))).collect(),
        open: options.open,
        concurrent: options.concurrent.max(1),
        capture: options.capture,
        zero: Instant::now(),
        listener: listener.try_clone().map_err(|e| Error::system("the port of the server", e))?,
        books: Mutex::new(Books {
            ledger: Ledger::new(options.limits, options.open_limits),
            tokens: Tokens::default(),
            reach: Reach::default(),
            beside: Beside::default(),
            sessions: BTreeMap::new(),
            connecting: BTreeMap::new(),
        }),
        next: AtomicU64::new(1),
        threads: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    // Where nobody may have probes or a survey, no UDP port is open.
    let lets = |limits: &Limits| limits.udp_rate > 0 || limits.survey_bytes > 0;
    let has_probes = !shared.keys.is_empty() && lets(&options.limits) || shared.open && lets(&options.open_limits);
    if has_probes {
        let (socket, of) = (probe::listen(options.bind, port)?, Arc::clone(&shared));
        let answer = move || {
            let random = || keys::random().ok();
            probe::answer_questions(&socket, &of.stop, |from, question| of.books().reach.answer(of.now(), from, question, random));
        };
        thread::Builder::new().name("questions".to_owned()).spawn(answer).map_err(|e| Error::system("the UDP port has no thread", e))?;
    }
    if let Some((sockets, books)) = reflector {
        let of = Arc::clone(&shared);
        let run = move || stamp::reflect(&sockets, books, &of.stop);
        thread::Builder::new().name("stamp".to_owned()).spawn(run).map_err(|e| Error::system("the reflector has no thread", e))?;
    }
    let (says, said) = channel();
    // A thread of its own: a flood waits for no caller, and no caller for a flood.
    let (of, told) = (Arc::clone(&shared), says.clone());
    let accepts = move || door::accept(&listener, &of, &told);
    let door = thread::Builder::new().name("door".to_owned()).stack_size(STACK).spawn(accepts);
    let door = door.map_err(|e| Error::system("the port has no thread", e))?;
    let mut goes_on = go_on(Said::Listening(port, unconfined));
    while goes_on {
        let line = said.recv_timeout(4 * TICK).ok();
        goes_on = go_on(line.map_or(Said::Nothing, Said::Session));
    }
    shared.stop.store(true, Relaxed);
    let _ = door.join();
    let end = Instant::now() + PATIENCE;
    while shared.threads.load(Relaxed) > 0 && Instant::now() < end {
        thread::sleep(TICK / 5);
    }
    for line in said.try_iter() {
        go_on(Said::Session(line));
    }
    Ok(())
}

/// Listens at `bind` and `port`; without an address at all of IPv6, which takes IPv4 as well, or of IPv4 where there is no IPv6.
fn listen(bind: Option<IpAddr>, port: u16) -> Result<TcpListener, Error> {
    let at = |address: IpAddr| -> std::io::Result<TcpListener> {
        let address = SocketAddr::new(address, port);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(bind.is_some())?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    let listener = match bind {
        Some(address) => at(address),
        None => at(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| at(Ipv4Addr::UNSPECIFIED.into())),
    };
    listener.map_err(|e| Error::system(format!("nobody can listen at port {port}"), e))
}
