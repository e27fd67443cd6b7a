//! A client of iperf3: one TCP flow each time, up or down.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::Traffic;
use longfat_host::clock::Clock;
use longfat_host::info::{self, field, state};
use longfat_tcp::{ReceiveBy, SendBy};
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;
use crate::iperf::Flowed;
use crate::linux::data::{self, Wish};
use crate::linux::keys;
use crate::linux::plane::{Flow, Plane};
use crate::linux::rows::Row;
use crate::linux::wire::fill;
use crate::options::IperfOptions;
use crate::protocol::Nanos;
use crate::protocol::application::Application;
use crate::protocol::iperf::{COOKIE, LONGEST, PORT, Parameters, Results, State, Stream, cookie, results};

/// Time for each answer of the server.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time for a server to close a test that is over.
const CLOSING: Duration = Duration::from_secs(3);
/// Time between two looks at the caller and the clock.
const TICK: Duration = Duration::from_millis(10);
/// Time between two samples.
const INTERVAL: Span = Span::from_millis(10);

/// Runs one flow to or from the iperf3 server at `at`; calls `go_on` many times a second, and ends early when that says `false`.
///
/// # Errors
/// A server that is not there, is busy, or is lost before anything was measured.
pub fn iperf(at: &str, options: &IperfOptions, go_on: &mut dyn FnMut() -> bool) -> Result<Flowed, Error> {
    let to = address(at)?;
    let control = TcpStream::connect_timeout(&to, PATIENCE);
    let control =
        control.map_err(|e| Error::session(to, format!("no connection: {e}. Is `iperf3 -s` running there, and its port open?")))?;
    let rtt = info::of(&control).ok().map(|info| Nanos::from(info.rtt()) * 1000).filter(|rtt| *rtt > 0);
    let found = Flowed { address: to.to_string(), is_up: options.is_up, rtt_idle_ns: rtt, ..Flowed::default() };
    let mut session = Session { to, control, cookie: cookie(keys::random()?), options, socket: None, rows: Vec::new(), found };
    let ended = session.run(go_on);
    let has_rows = session.tell();
    match ended {
        Ok(()) => Ok(session.found),
        Err(Error::Session { why, .. }) if has_rows => Ok(Flowed { lost: Some(why), ..session.found }),
        Err(error) => Err(error),
    }
}

/// Reads `host`, `host:port`, `[v6]:port` or `v6`.
fn address(at: &str) -> Result<SocketAddr, Error> {
    let bare = at.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(at);
    let is_v6 = bare.parse::<std::net::Ipv6Addr>().is_ok();
    let found = if is_v6 || !at.contains(':') { (bare, PORT).to_socket_addrs() } else { at.to_socket_addrs() };
    let mut found = found.map_err(|e| Error::session(at, format!("no such host ({e})")))?;
    found.next().ok_or_else(|| Error::session(at, "it has no address"))
}

struct Session<'a> {
    to: SocketAddr,
    control: TcpStream,
    cookie: [u8; COOKIE],
    options: &'a IperfOptions,
    /// Data connection. It stays open until the server has told its results.
    socket: Option<Socket>,
    rows: Vec<Row>,
    found: Flowed,
}

impl Session<'_> {
    fn fails<T>(&self, why: impl std::fmt::Display) -> Result<T, Error> {
        Err(Error::session(self.to, why))
    }

    fn lost(&self, e: &std::io::Error) -> Error {
        let why = match e.kind() {
            ErrorKind::TimedOut => "the server said nothing in time".to_owned(),
            ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ => format!("the server was lost: {e}"),
        };
        Error::session(self.to, why)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        fill(&mut self.control, bytes, Instant::now() + PATIENCE).map_err(|e| self.lost(&e))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.control.set_write_timeout(Some(PATIENCE)).and_then(|()| self.control.write_all(bytes));
        written.map_err(|e| self.lost(&e))
    }

    fn write_json(&mut self, value: &impl serde::Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(value).expect("it is numbers and names");
        self.write(&[&(text.len() as u32).to_be_bytes()[..], &text].concat())
    }

    fn read_json(&mut self) -> Result<Vec<u8>, Error> {
        let mut len = [0; 4];
        self.read(&mut len)?;
        let len = u32::from_be_bytes(len) as usize;
        if len > LONGEST {
            return self.fails(format!("its results would have {len} bytes"));
        }
        let mut text = vec![0; len];
        self.read(&mut text)?;
        Ok(text)
    }

    fn run(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        self.write(&self.cookie.clone())?;
        loop {
            let mut byte = [0];
            self.read(&mut byte)?;
            match State::of(byte[0]) {
                Some(State::Parameters) => {
                    let IperfOptions { is_up, seconds, control } = self.options;
                    self.write_json(&Parameters::new(*seconds, !is_up, control.clone()))?;
                }
                Some(State::Streams) if self.socket.is_none() => self.connect()?,
                Some(State::Start) => {}
                Some(State::Running) if self.rows.is_empty() => self.flow(go_on)?,
                Some(State::Results) => {
                    let ours = self.ours();
                    self.write_json(&ours)?;
                    let text = self.read_json()?;
                    match results(&text) {
                        Ok(theirs) => self.keep(theirs),
                        Err(why) => return self.fails(why),
                    }
                }
                Some(State::Display) => {
                    self.write(&[State::DONE])?;
                    // It takes no next test before it has closed this one.
                    let _ = fill(&mut self.control, &mut [0], Instant::now() + CLOSING);
                    return Ok(());
                }
                Some(State::Denied) => return self.fails("the server measures with somebody else: try again later"),
                Some(State::Terminated) => return self.fails("the server was stopped"),
                Some(State::Failed) => {
                    let mut numbers = [0; 8];
                    self.read(&mut numbers)?;
                    let number = i32::from_be_bytes([numbers[0], numbers[1], numbers[2], numbers[3]]);
                    return self.fails(format!("the server gave up, with error {number} of iperf3"));
                }
                Some(State::Streams | State::Running) | None => return self.fails("it does not speak iperf3's protocol"),
            }
        }
    }

    fn connect(&mut self) -> Result<(), Error> {
        let family = Domain::for_address(self.to);
        let made = Socket::new(family, Type::STREAM, Some(Protocol::TCP)).map_err(|e| Error::system("a TCP socket", e))?;
        let control = self.options.control.clone().filter(|_| self.options.is_up);
        Wish { control, window: None, maxseg: None, nagle: false, dscp: 0, rate: None, send: SendBy::Copy }.set(&made, family)?;
        let opened = made.connect_timeout(&self.to.into(), PATIENCE).and_then(|()| {
            (&made).write_all(&self.cookie)?;
            made.set_nonblocking(true)
        });
        opened.map_err(|e| Error::session(self.to, format!("no data connection: {e}")))?;
        self.found.control = self.options.is_up.then(|| data::control_of(&made));
        self.socket = Some(made);
        Ok(())
    }

    /// Lets the data flow for its time, and tells the server that it is over.
    fn flow(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let Some(socket) = &self.socket else { return self.fails("it began without a data connection") };
        let socket = socket.try_clone().map_err(|e| Error::system("a data connection", e))?;
        let ends = Time::ZERO + Span::from_secs(2 * u64::from(self.options.seconds) + 60);
        let bulk = Traffic::bulk();
        let sends = self.options.is_up.then(|| Application::of(&bulk, 0, "iperf3").program(&bulk, Time::ZERO, ends));
        let local = socket.local_addr().ok().and_then(|local| local.as_socket()).map(|local| local.ip());
        let flow = Flow {
            number: 0,
            socket,
            window: None,
            sends,
            reads: None,
            has_volume: false,
            send: SendBy::Copy,
            receive: ReceiveBy::Truncate,
        };
        let begun = Instant::now();
        let plane = Plane::begin(vec![flow], local, INTERVAL, Clock::starting_in(Duration::ZERO))?;
        let time = Duration::from_secs(self.options.seconds.into());
        let mut word = None;
        while begun.elapsed() < time && word.is_none() && !plane.has_failed() {
            thread::sleep(TICK);
            word = self.word();
            if !go_on() {
                self.found.is_cut = true;
                break;
            }
        }
        self.found.ran_ns = begun.elapsed().as_nanos() as Nanos;
        self.rows = plane.halt().rows;
        match word {
            Some(why) => self.fails(why),
            None => self.write(&[State::TEST_END]),
        }
    }

    /// Word of a server during the flow, at which there should be none.
    fn word(&self) -> Option<String> {
        let mut byte = [0];
        let _ = self.control.set_nonblocking(true);
        let said = self.control.peek(&mut byte);
        let _ = self.control.set_nonblocking(false);
        match said {
            Ok(0) => Some("the server closed the connection".to_owned()),
            Ok(_) => match State::of(byte[0]) {
                Some(State::Terminated) => Some("the server was stopped".to_owned()),
                Some(State::Failed) => Some("the server gave up".to_owned()),
                _ => Some("the server spoke while data flowed".to_owned()),
            },
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(e) => Some(format!("the server was lost: {e}")),
        }
    }

    /// Payload of this end, without the cookie.
    fn moved(&self, row: &Row) -> u64 {
        if self.options.is_up {
            // The kernel may count the SYN.
            row.info.bytes_acked().saturating_sub(COOKIE as u64 + 1)
        } else {
            row.read
        }
    }

    /// Our results, in the form of iperf3.
    fn ours(&self) -> Results {
        let last = self.rows.last();
        let retransmits = if self.options.is_up { last.map_or(0, |row| row.info.total_retrans().into()) } else { -1 };
        let stream = Stream {
            id: 1,
            bytes: last.map_or(0, |row| self.moved(row)),
            retransmits,
            end_time: self.found.ran_ns as f64 / 1e9,
            ..Stream::default()
        };
        Results {
            sender_has_retransmits: if self.options.is_up { 1 } else { -1 },
            congestion_used: self.found.control.clone(),
            streams: vec![stream],
            ..Results::default()
        }
    }

    fn keep(&mut self, theirs: Results) {
        let Results { cpu_util_total, congestion_used, mut streams, .. } = theirs;
        let Some(stream) = streams.pop() else { return };
        self.found.far_bytes = Some(stream.bytes);
        self.found.far_s = Some(stream.end_time - stream.start_time);
        self.found.far_cpu_percent = Some(cpu_util_total);
        if !self.options.is_up {
            self.found.control = congestion_used;
            self.found.segments_retransmitted = u64::try_from(stream.retransmits).ok().filter(|segments| *segments < 1 << 62);
        }
    }

    /// Takes what the samples tell; false: there are none.
    fn tell(&mut self) -> bool {
        // A closed socket has no connection to tell of.
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.info.state() != state::CLOSE).collect();
        let (Some(first), Some(last)) = (rows.iter().find(|row| row.at >= self.found.ran_ns / 5), rows.last()) else { return false };
        let time = last.at.saturating_sub(first.at) as f64 / 1e9;
        if time > 0.0 {
            self.found.goodput_bps = Some(8.0 * self.moved(last).saturating_sub(self.moved(first)) as f64 / time);
        }
        if self.options.is_up {
            let mut trips: Vec<Nanos> = rows.iter().map(|row| Nanos::from(row.info.rtt()) * 1000).filter(|rtt| *rtt > 0).collect();
            trips.sort_unstable();
            self.found.rtt_p50_ns = trips.get(trips.len() / 2).copied();
            self.found.rtt_mean_ns = (!trips.is_empty()).then(|| trips.iter().sum::<Nanos>() / trips.len() as u64);
            let info = &last.info;
            self.found.bytes_sent = info.get(&field::bytes_sent).map(|sent| sent.saturating_sub(COOKIE as u64));
            self.found.bytes_retransmitted = info.get(&field::bytes_retrans);
            self.found.segments_retransmitted = info.get(&field::total_retrans);
            let time = |field| info.get(field).map(|us: u64| us * 1000);
            self.found.busy_ns = time(&field::busy_time);
            self.found.rwnd_limited_ns = time(&field::rwnd_limited);
            self.found.sndbuf_limited_ns = time(&field::sndbuf_limited);
        }
        true
    }
}
