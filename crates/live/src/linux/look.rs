//! The client's side of a survey: what it asks, in which order, and what it makes of the answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use longfat_host::clock::{Clock, nanoseconds};
use longfat_host::path::{self, Complaint, Why};
use longfat_host::stamps::Wall;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::Socket;

use crate::Error;
use crate::linux::due::{self, Due};
use crate::linux::echo::{self, LARGEST, TTL};
use crate::protocol::survey::{ANSWER, Answer, Kind, NUMBER, QUESTION, Question, REPORT};
use crate::protocol::{Nanos, Token};
use crate::survey::{Burst, Codepoint, Hop, Survey, TooBig};

const MS: Nanos = 1_000_000;
/// Longest sleep: the thread then looks whether it is to end.
const LOOK: Nanos = 20 * MS;
/// Questions on the idle path of a whole survey and of a brief one, and the time between two.
const IDLE: u32 = 20;
const IDLE_BRIEF: u32 = 10;
const IDLE_GAP: Nanos = 25 * MS;
/// Time between questions that need no rhythm.
const GAP: Nanos = 2 * MS;
/// Time beside its round trips that an answer may take.
const PATIENCE: Nanos = 200 * MS;
/// Times that a question is put: `MAX_PROBES` of RFC 8899 section 5.1.2.
const TRIES: usize = 3;
/// Sizes to begin with: `BASE_PLPMTU` of RFC 8899 section 5.1.2, the least of IPv6, tunnels, PPPoE (RFC 2516), Ethernet, FDDI (RFC 1390), ATM
/// (RFC 2225) and jumbo frames.
const SIZES: [u32; 16] = [576, 1200, 1280, 1400, 1420, 1440, 1450, 1460, 1476, 1480, 1492, 1500, 4352, 9000, 9180, LARGEST_TRIED];
/// Largest packet that is tried.
const LARGEST_TRIED: u32 = 9216;
/// Sizes of a later round.
const PER_ROUND: u32 = 16;
/// Codepoints that are asked about: default, LE (RFC 8622), CS1 to CS7 (RFC 2474), AF11, AF21, AF31, AF41 (RFC 2597), VA (RFC 5865), EF (RFC 3246).
const CODEPOINTS: [u8; 15] = [0, 1, 8, 16, 24, 32, 40, 48, 56, 10, 18, 26, 34, 44, 46];
/// Octets of ECN that are asked about beside them: ECT(1), ECT(0), CE (RFC 3168, RFC 9331).
const ECN: [u8; 3] = [1, 2, 3];
/// Routers that are asked for at most.
const HOPS: u8 = 30;
/// Packets of the first burst, which says how fast the second is to be.
const FIRST: u32 = 64;
/// Packets of the second burst: no fewer, and no more than these bytes or twice this time at the rate of the first.
const LEAST: u32 = 200;
const BURST: u64 = 4_000_000;
const DRAIN_S: f64 = 2.0;
/// Rate of the second burst over that with which the first arrived.
const OVER: f64 = 2.0;

/// Parts of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of them.
    Whole,
    /// Round trips, hops and MTU alone.
    Brief,
}

impl Extent {
    /// Returns the extent of a survey for which so many milliseconds are asked.
    pub(crate) fn of(ms: u64) -> Self {
        if ms == Extent::Whole.milliseconds() { Extent::Whole } else { Extent::Brief }
    }
    /// Milliseconds of a survey.
    pub(crate) const fn milliseconds(self) -> u64 {
        match self {
            Extent::Whole => 12_000,
            Extent::Brief => 5_500,
        }
    }
    /// Bytes of a survey, both ways.
    pub(crate) const fn bytes(self) -> u64 {
        match self {
            Extent::Whole => 11_000_000,
            Extent::Brief => 1_000_000,
        }
    }
    /// Questions on the idle path.
    const fn idle(self) -> u32 {
        match self {
            Extent::Whole => IDLE,
            Extent::Brief => IDLE_BRIEF,
        }
    }
}

/// Part of a survey, which ends by a time.
type Part<'a> = fn(&mut Look<'a>, Nanos);
/// Name of a part, and milliseconds from the beginning of a whole survey and of a brief one by which it ends; 0: it is no part of that. The last
/// part leaves time for the end.
type Listed<'a> = (&'static str, Part<'a>, [Nanos; 2]);

/// An answer, and how it came.
struct Heard {
    answer: Answer,
    /// Length of its payload.
    len: usize,
    /// Time of its arrival: monotonic nanoseconds.
    at: Nanos,
    tos: Option<u8>,
    ttl: Option<u8>,
}

enum News {
    Answer(Heard),
    Complaint(Complaint),
}

/// A survey under way.
struct Look<'a> {
    extent: Extent,
    socket: Socket,
    is_v6: bool,
    nonce: Token,
    clock: Clock,
    wall: Wall,
    stop: &'a AtomicBool,
    number: u32,
    /// When each question left.
    sent: HashMap<u32, Nanos>,
    rtt: Nanos,
    tos: u8,
    buffer: Vec<u8>,
    found: Survey,
}

/// Surveys the path by `socket`, which the server has reached with `nonce`; `rtt` is a round trip of the control channel, `rate` what the server
/// lets bursts have. It ends early where `stop` says so.
///
/// # Errors
/// A kernel without the options of [`path`].
pub(crate) fn look<'a>(
    extent: Extent,
    socket: Socket,
    nonce: Token,
    rtt: Nanos,
    rate: Option<u64>,
    clock: Clock,
    stop: &'a AtomicBool,
) -> Result<Survey, Error> {
    let is_v6 = echo::prepared(&socket)?;
    Due::prepare();
    let address = socket.peer_addr().ok().and_then(|peer| peer.as_socket()).map(|peer| peer.ip().to_string()).unwrap_or_default();
    let port = socket.local_addr().ok().and_then(|local| local.as_socket()).map_or(0, |local| local.port());
    let found = Survey { address, port, rate_limit: rate, ..Survey::default() };
    let (sent, buffer) = (HashMap::new(), vec![0; LARGEST]);
    let mut look = Look { extent, socket, is_v6, nonce, clock, wall: Wall::now(), stop, number: 0, sent, rtt, tos: 0, buffer, found };
    let begun = nanoseconds(ClockId::CLOCK_MONOTONIC);
    let parts: [Listed<'a>; 6] = [
        ("round trips", Look::idle, [2_000, 1_000]),
        ("codepoints", Look::codepoints, [3_000, 0]),
        ("hops", Look::hops, [5_000, 3_000]),
        ("MTU", Look::mtu, [6_500, 5_000]),
        ("burst up", Look::up, [9_000, 0]),
        ("burst down", Look::down, [11_500, 0]),
    ];
    for (name, part, until) in parts {
        let until = begun + MS * if extent == Extent::Whole { until[0] } else { until[1] };
        if until == begun {
            continue;
        }
        if !look.is_over(until) {
            part(&mut look, until);
        }
        if look.is_over(until) {
            look.found.cut.push(name);
        }
    }
    Ok(look.found)
}

fn now() -> Nanos {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

impl Look<'_> {
    fn is_over(&self, until: Nanos) -> bool {
        self.stop.load(Relaxed) || now() >= until
    }

    /// Bytes of headers before the payload: IPv4 or IPv6 (RFC 791, RFC 8200), and UDP.
    fn headers(&self) -> u32 {
        if self.is_v6 { 48 } else { 28 }
    }

    /// Time for which an answer is waited for.
    fn patience(&self) -> Nanos {
        PATIENCE + 2 * self.rtt
    }

    /// Sends a question of `len` bytes of payload; its number, or `None` where this host does not send so much.
    fn ask(&mut self, kind: Kind, tos: u8, len: usize, answer: usize, [a, b]: [u32; 2]) -> Option<u32> {
        let number = self.number;
        self.number += 1;
        self.put(&Question { kind, tos, answer: answer as u16, number, a, b }, len).then_some(number)
    }

    /// Sends a question, with this number; false: this host does not send so much.
    fn put(&mut self, question: &Question, len: usize) -> bool {
        if self.tos != question.tos && path::set_codepoint(&self.socket, self.is_v6, question.tos).is_ok() {
            self.tos = question.tos;
        }
        let mut bytes = std::mem::take(&mut self.buffer);
        let out = &mut bytes[..len.max(QUESTION)];
        out.fill(0);
        question.write(self.nonce, out);
        self.sent.insert(question.number, now());
        let is_sent = echo::send(&self.socket, out).is_ok();
        if is_sent {
            self.found.bytes += out.len() as u64;
        }
        self.buffer = bytes;
        is_sent
    }

    /// Returns the next answer or message, by `until`.
    fn next(&mut self, until: Nanos) -> Option<News> {
        loop {
            if let Some(complaint) = path::complaint(&self.socket) {
                if let Why::TooBig(mtu) = complaint.why {
                    let said = TooBig { from: complaint.from.map(|from| from.to_string()), mtu };
                    if !self.found.too_big.contains(&said) {
                        self.found.too_big.push(said);
                    }
                }
                return Some(News::Complaint(complaint));
            }
            match path::receive(&self.socket, &mut self.buffer) {
                Ok(arrival) => {
                    let at = now();
                    let is_steady = self.wall.see(Wall::now());
                    self.found.bytes += arrival.len as u64;
                    let stamp = arrival.wall.filter(|_| is_steady).map(|wall| self.wall.monotonic(wall)).filter(|stamp| *stamp <= at);
                    let read = self.buffer.get(..arrival.len).and_then(|bytes| Answer::parse(self.nonce, bytes));
                    if let Some(answer) = read {
                        let at = stamp.unwrap_or(at);
                        return Some(News::Answer(Heard { answer, len: arrival.len, at, tos: arrival.tos, ttl: arrival.ttl }));
                    }
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    let left = until.saturating_sub(now()).min(LOOK);
                    if left == 0 || self.stop.load(Relaxed) {
                        return None;
                    }
                    let timeout = TimeSpec::from_duration(Duration::from_nanos(left));
                    let _ = ppoll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], Some(timeout), None);
                }
                // An ICMP message: it waits among the complaints.
                Err(_) => {}
            }
        }
    }

    /// Puts echo questions of (codepoint and ECN, bytes of payload, bytes of the answer), `gap` apart, and takes their answers. `None`: none came.
    fn round(&mut self, asks: &[(u8, usize, usize)], gap: Nanos, until: Nanos) -> Vec<Option<Heard>> {
        let mut heard: Vec<Option<Heard>> = asks.iter().map(|_| None).collect();
        let mut places = HashMap::new();
        let begun = now();
        for (place, (tos, len, answer)) in asks.iter().enumerate() {
            let due = (begun + gap * place as u64).min(until);
            while let Some(news) = self.next(due) {
                keep(news, &places, &mut heard);
            }
            if self.is_over(until) {
                return heard;
            }
            if let Some(number) = self.ask(Kind::Echo, *tos, *len, *answer, [0; 2]) {
                places.insert(number, place);
            }
        }
        let last = until.min(now() + self.patience());
        while places.values().any(|place| heard[*place].is_none())
            && let Some(news) = self.next(last)
        {
            keep(news, &places, &mut heard);
        }
        heard
    }

    /// Asks on the idle path.
    fn idle(&mut self, until: Nanos) {
        let count = self.extent.idle();
        let heard = self.round(&vec![(0, ANSWER, ANSWER); count as usize], IDLE_GAP, until);
        self.found.asked = count;
        for heard in heard.into_iter().flatten() {
            let Some(sent) = self.sent.get(&heard.answer.number) else { continue };
            let held = heard.answer.left.saturating_sub(heard.answer.came);
            self.found.rtt_ns.push(heard.at.saturating_sub(*sent).saturating_sub(held));
            self.found.routers_up = Some(TTL.saturating_sub(heard.answer.ttl));
            self.found.routers_down = heard.ttl.map(|ttl| TTL.saturating_sub(ttl));
        }
        self.rtt = self.found.rtt_ns.iter().copied().max().unwrap_or(self.rtt);
    }

    /// Asks with each codepoint, and each of ECN. The answer comes with the same.
    fn codepoints(&mut self, until: Nanos) {
        let all: Vec<u8> = CODEPOINTS.iter().map(|codepoint| codepoint << 2).chain(ECN).collect();
        let mut found: Vec<Codepoint> = all.iter().map(|sent| Codepoint { sent: *sent, up: None, down: None }).collect();
        for _ in 0..TRIES {
            let left: Vec<usize> = (0..all.len()).filter(|place| found[*place].down.is_none()).collect();
            let asks: Vec<_> = left.iter().map(|place| (all[*place], ANSWER, ANSWER)).collect();
            if asks.is_empty() || self.is_over(until) {
                break;
            }
            for (place, heard) in left.into_iter().zip(self.round(&asks, GAP, until)) {
                if let Some(heard) = heard {
                    (found[place].up, found[place].down) = (Some(heard.answer.tos), heard.tos);
                }
            }
        }
        self.found.codepoints = found;
    }

    /// Asks with one TTL after the other, from the port that asks everything else: routers that share load by ports send all of it one way.
    fn hops(&mut self, until: Nanos) {
        let most = self.found.routers_up.map_or(HOPS, |routers| routers.min(HOPS));
        for ttl in 1..=most {
            let mut hop = Hop { ttl, address: None, rtt_ns: None };
            let mut is_there = false;
            for _ in 1..TRIES {
                if hop.address.is_some() || self.is_over(until) || path::set_ttl(&self.socket, self.is_v6, ttl).is_err() {
                    break;
                }
                let Some(number) = self.ask(Kind::Echo, 0, ANSWER, ANSWER, [0; 2]) else { continue };
                let sent = now();
                while let Some(news) = self.next(until.min(sent + self.patience())) {
                    match news {
                        // A router that quotes 8 bytes of payload or fewer, as RFC 792 has it, does not say which question it means.
                        News::Complaint(Complaint { from: Some(from), why: Why::Expired, quoted })
                            if quoted.get(NUMBER).is_none_or(|quoted| quoted == number.to_be_bytes()) =>
                        {
                            (hop.address, hop.rtt_ns) = (Some(from.to_string()), Some(now() - sent));
                            break;
                        }
                        News::Answer(heard) if heard.answer.number == number => {
                            is_there = true;
                            break;
                        }
                        _ => {}
                    }
                }
                if is_there {
                    break;
                }
            }
            if is_there || self.is_over(until) {
                break;
            }
            self.found.hops.push(hop);
        }
        let _ = path::set_ttl(&self.socket, self.is_v6, TTL);
    }

    /// Searches the largest packet that comes through, to the server and then back (RFC 8899). Several sizes are asked at once, and a size that is
    /// not answered [`TRIES`] times is too large. ICMP messages only propose sizes: nobody vouches for them (section 4.6.1 there).
    fn mtu(&mut self, until: Nanos) {
        let headers = self.headers();
        let Some((up, most)) = self.search(until, LARGEST_TRIED, |size| ((size - headers) as usize, ANSWER)) else { return };
        (self.found.mtu_up, self.found.mtu_most) = (Some(up), most);
        self.found.mtu_down = self.search(until, up, |size| ((up - headers) as usize, (size - headers) as usize)).map(|(down, _)| down);
    }

    /// Returns the largest size up to `most` whose question is answered as `lengths` has it, and the largest that was tried; `None`: no size is, or
    /// there was no time.
    fn search(&mut self, until: Nanos, most: u32, lengths: impl Fn(u32) -> (usize, usize)) -> Option<(u32, u32)> {
        let (mut low, mut high, mut tried) = (0, most + 1, 0);
        let mut sizes: BTreeSet<u32> = SIZES.into_iter().filter(|size| *size < most).chain([most]).collect();
        while !sizes.is_empty() {
            let round: Vec<u32> = std::mem::take(&mut sizes).into_iter().collect();
            tried = tried.max(round.last().copied().unwrap_or(0));
            let mut passed = BTreeSet::new();
            let named = self.found.too_big.len();
            for _ in 0..TRIES {
                let left: Vec<u32> = round.iter().copied().filter(|size| !passed.contains(size)).collect();
                let asks: Vec<_> = left.iter().map(|size| (0, lengths(*size).0, lengths(*size).1)).collect();
                if asks.is_empty() {
                    break;
                }
                let heard = self.round(&asks, GAP, until);
                passed.extend(
                    left.iter()
                        .zip(&asks)
                        .zip(heard)
                        .filter(|((_, ask), heard)| heard.as_ref().is_some_and(|heard| heard.len == ask.2))
                        .map(|((size, _), _)| *size),
                );
                if self.is_over(until) {
                    return None;
                }
            }
            low = passed.last().copied().unwrap_or(low).max(low);
            high = round.iter().copied().filter(|size| *size > low).min().unwrap_or(high).min(high);
            // A router's word is worth a question, and so is one byte more.
            let words = self.found.too_big[named..].iter().flat_map(|said| [said.mtu, said.mtu + 1]);
            sizes.extend(words.filter(|size| (low + 1..high).contains(size) && *size > self.headers() + REPORT as u32));
            if sizes.is_empty() {
                let step = (high - low).div_ceil(PER_ROUND + 1).max(1);
                let least = low.max(self.headers() + REPORT as u32);
                sizes.extend((1..=PER_ROUND).map(|part| least + part * step).filter(|size| *size < high));
            }
        }
        (low > 0).then_some((low, tried))
    }

    /// UDP payload of a packet of a burst: full packets of the path, or of Ethernet where they are larger.
    fn payload(&self, mtu: Option<u32>) -> u32 {
        mtu.unwrap_or(1280).clamp(576, 1500) - self.headers()
    }

    /// Rate that the server lets bursts have, as a gap in nanoseconds.
    fn least_gap(&self, payload: u32) -> f64 {
        self.found.rate_limit.map_or(0.0, |rate| 8e9 * f64::from(payload) / rate.max(1) as f64)
    }

    /// Gap and packets of the second burst, by the first.
    fn second(&self, first: &Burst) -> Option<(u32, u32)> {
        let (from, to) = (first.came_ns.first()?, first.came_ns.last()?);
        let payload = first.size - self.headers();
        let gap = (to - from) as f64 / (first.came_ns.len() as f64 - 1.0).max(1.0);
        let rate = 8e9 * f64::from(payload) / gap.max(1.0);
        let most = (BURST as f64).min(DRAIN_S * rate / 8.0) / f64::from(payload);
        Some(((gap / OVER).max(self.least_gap(payload)) as u32, (most as u32).clamp(LEAST, BURST as u32 / payload)))
    }

    fn up(&mut self, until: Nanos) {
        let payload = self.payload(self.found.mtu_up);
        let first = self.burst(1, payload, self.least_gap(payload) as u32, FIRST, until);
        if let Some((gap, count)) = self.second(&first) {
            self.found.up = Some(self.burst(2, payload, gap, count, until));
        }
    }

    fn down(&mut self, until: Nanos) {
        let payload = self.payload(self.found.mtu_down);
        let first = self.train(payload, self.least_gap(payload) as u32, FIRST, until);
        if let Some((gap, count)) = self.second(&first) {
            self.found.down = Some(self.train(payload, gap, count, until));
        }
    }

    /// Sends a burst, and learns from the answers when its packets came. Each tells of those before it, since answers are lost as well.
    fn burst(&mut self, id: u32, payload: u32, gap: u32, count: u32, until: Nanos) -> Burst {
        let mut came: BTreeMap<u32, Nanos> = BTreeMap::new();
        let keep = |news: News, came: &mut BTreeMap<u32, Nanos>| {
            if let News::Answer(Heard { answer: Answer { kind: Kind::Burst, number, told, came: at, .. }, .. }) = news {
                for (number, at) in told.into_iter().chain([(number, at)]) {
                    came.entry(number).or_insert(at);
                }
            }
        };
        let (begun, mut sent, base) = (now(), 0, self.number);
        while sent < count && !self.is_over(until) {
            let due = begun + u64::from(sent) * u64::from(gap);
            if due >= until {
                break;
            }
            due::wait_until(self.clock, due);
            self.ask(Kind::Burst, 0, payload as usize, REPORT, [id, 0]);
            sent += 1;
            // Answers that wait do not keep the next packet.
            if sent % 8 == 0 {
                while let Some(news) = self.next(0) {
                    keep(news, &mut came);
                }
            }
        }
        let mut last = now();
        while came.len() < sent as usize
            && let Some(news) = self.next(until.min(last + 2 * self.patience()))
        {
            keep(news, &mut came);
            last = now();
        }
        // A packet that another session's number would have is none of this burst.
        let mut order: Vec<(Nanos, u32)> = came
            .into_iter()
            .filter_map(|(number, at)| Some((at, number.checked_sub(base)?)))
            .filter(|(_, number)| *number < sent)
            .collect();
        order.sort_unstable();
        let (came_ns, numbers): (Vec<Nanos>, Vec<u32>) = order.into_iter().unzip();
        let left_ns = numbers.iter().map(|number| self.sent.get(&(base + number)).copied().unwrap_or(0)).collect();
        Burst { size: payload + self.headers(), gap_ns: gap, sent, numbers, left_ns, came_ns }
    }

    /// Asks for a burst from the server, and takes it.
    fn train(&mut self, payload: u32, gap: u32, count: u32, until: Nanos) -> Burst {
        let mut order: Vec<(Nanos, u32, Nanos)> = Vec::new();
        let question = Question { kind: Kind::Train, tos: 0, answer: payload as u16, number: self.number, a: count, b: gap };
        self.number += 1;
        let mut seen = BTreeSet::new();
        for _ in 0..TRIES {
            self.put(&question, QUESTION);
            let mut last = now();
            while seen.len() < count as usize
                && let Some(news) = self.next(until.min(last + 2 * self.patience()))
            {
                if let News::Answer(Heard { answer: Answer { kind: Kind::Train, number, came, left, .. }, at, .. }) = news
                    && came == u64::from(question.number)
                    && number < count
                    && seen.insert(number)
                {
                    order.push((at, number, left));
                    last = now();
                }
            }
            if !order.is_empty() || self.is_over(until) {
                break;
            }
        }
        order.sort_unstable();
        let numbers = order.iter().map(|(_, number, _)| *number).collect();
        let left_ns = order.iter().map(|(_, _, left)| *left).collect();
        let came_ns = order.iter().map(|(at, _, _)| *at).collect();
        Burst { size: payload + self.headers(), gap_ns: gap, sent: count, numbers, left_ns, came_ns }
    }
}

/// Keeps the first answer to a question at its place.
fn keep(news: News, places: &HashMap<u32, usize>, heard: &mut [Option<Heard>]) {
    if let News::Answer(answer) = news
        && answer.answer.kind == Kind::Echo
        && let Some(place) = places.get(&answer.answer.number)
        && heard[*place].is_none()
    {
        heard[*place] = Some(answer);
    }
}
