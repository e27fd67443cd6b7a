//! The server and its clients over loopback: sessions, and those who do not play by the rules.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longfat_core::params::Value;
use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::{Reader, Traffic};
use longfat_core::units::Rate;
use longfat_host::info::field;
use longfat_record::trace::{PacketKind, Seen, cut};

use crate::linux::client::{Asked, End, Outcome, addresses, greet, session};
use crate::linux::data::{Wish, receive_by, send_by};
use crate::linux::datagrams::{self, Counted};
use crate::linux::plane::{BLOCK, Flow};
use crate::linux::probe::times;
use crate::linux::rows::Row;
use crate::linux::serve::serve;
use crate::linux::wire::Control;
use crate::options::{IperfOptions, Said, ServeOptions, StampOptions};
use crate::protocol::application::Application;
use crate::protocol::application::tests::every_kind;
use crate::protocol::message::{Direction, FlowOffer, Granted, Message, Offer, ProbeOffer, Reached, ReceiveWay, SendWay};
use crate::protocol::reach::{datagram, of_datagram};
use crate::protocol::stamp::{self, Answer};
use crate::protocol::{DATA_MAGIC, Hello, Key, Limits, Token};
use crate::{Error, PORT};

/// A server of the test, which ends with it.
struct Served {
    port: u16,
    lines: Receiver<String>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

fn key() -> Key {
    Key::new([7; 32])
}

fn served(change: impl FnOnce(&mut ServeOptions)) -> Served {
    let mut options = ServeOptions {
        bind: Some(Ipv4Addr::LOCALHOST.into()),
        port: 0,
        keys: vec![("test".to_owned(), key())],
        open: false,
        limits: Limits::default(),
        open_limits: Limits::open(),
        concurrent: 1,
        capture: false,
        readable: Vec::new(),
        stamp: None,
    };
    change(&mut options);
    let stop = Arc::new(AtomicBool::new(false));
    let ((port_to, port), (line_to, lines)) = (channel(), channel());
    let ends = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        serve(options, &mut |said| {
            match said {
                Said::Listening(port, _) => port_to.send(port).unwrap(),
                // The test may have heard enough.
                Said::Session(line) => drop(line_to.send(line)),
                Said::Nothing => {}
            }
            !ends.load(Relaxed)
        })
    });
    let port = port.recv_timeout(Duration::from_secs(10)).unwrap();
    Served { port, lines, stop, thread: Some(thread) }
}

impl Served {
    fn connect(&self) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap()
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            assert_eq!(thread.join().unwrap(), Ok(()));
        }
    }
}

fn flow(direction: Direction, volume: Option<u64>) -> FlowOffer {
    let traffic = volume.map_or_else(Traffic::bulk, Traffic::ttcp);
    let application = Application::of(&traffic, 1, "flow1");
    let times = FlowOffer {
        direction,
        start_us: 0,
        stop_us: None,
        application,
        read_rate: None,
        control: None,
        window: None,
        nagle: false,
        dscp: 10,
        send: SendWay::Copy,
        receive: ReceiveWay::Truncate,
    };
    FlowOffer { window: Some(1 << 20), ..times }
}

fn run(port: u16, key: Option<&Key>, ms: u64, flows: Vec<FlowOffer>, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Outcome, Error> {
    run_with(port, key, Offer { ms, interval_us: 10_000, flows, probe: None, capture: false, survey: None }, go_on)
}

fn run_with(port: u16, key: Option<&Key>, offer: Offer, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Outcome, Error> {
    let (ms, flows) = (offer.ms, &offer.flows);
    // Our end sends where the server's does not.
    let send = |flow: &FlowOffer| if flow.direction == Direction::Up { send_by(flow.send) } else { send_by(SendWay::Copy) };
    let wishes = flows.iter().map(|flow| Wish { send: send(flow), ..Wish::of(flow, None) }).collect();
    let of_end = flows.clone();
    let end = move |number: u32, socket, nonce: Option<Token>| {
        let flow = &of_end[number as usize];
        let traffic = flow.application.traffic().unwrap();
        let (sends, end) = (flow.direction == Direction::Up, Time::ZERO + Span::from_millis(ms));
        if let Some(nonce) = nonce {
            let stop = flow.stop_us.map_or(end, |us| Time::ZERO + Span::from_micros(us));
            let ends = flow.application.datagrams(&traffic, sends, Time::ZERO, stop);
            return End::Udp(datagrams::Flow { number, socket, nonce, datagrams: ends, sends, most: datagrams::most(&traffic, ms) });
        }
        let sends = sends.then(|| flow.application.program(&traffic, Time::ZERO, end));
        let reads = flow.read_rate.filter(|_| sends.is_none()).map(|rate| Reader::new(Rate::from_bps(rate), BLOCK));
        let (has_volume, send, receive) = (traffic.volume().is_some(), send_by(flow.send), receive_by(flow.receive));
        End::Tcp(Flow { number, socket, window: flow.window, sends, reads, has_volume, send, receive })
    };
    let at = format!("127.0.0.1:{port}");
    session(
        &Asked { at: &at, key, offer, wishes, end: &end, udp_port: 0, routers: 0, begin: Time::ZERO, check: &|_, _| Ok(()) },
        &mut |now, _| go_on(now),
    )
}

fn why(result: Result<Outcome, Error>) -> String {
    result.map_or_else(Some, |outcome| outcome.lost).expect("it ended well").to_string()
}

#[test]
fn volumes_go_both_ways_and_both_ends_tell_of_them() {
    let server = served(|_| {});
    let (up, down) = (3_000_000, 2_000_000);
    let flows = vec![flow(Direction::Up, Some(up)), flow(Direction::Down, Some(down)), flow(Direction::Up, None)];
    let outcome = run(server.port, Some(&key()), 20_000, flows, &mut |_| true).unwrap();
    assert!(outcome.end < 15_000_000_000 && outcome.cut_by == 0, "it ends when the volumes have come: {}", outcome.end);
    let last = |rows: &[super::rows::Row], flow| rows.iter().rfind(|row| row.flow == flow).unwrap().clone();
    let (sender, receiver) = (last(&outcome.ours.rows, 0), last(&outcome.theirs, 0));
    assert_eq!((receiver.read, receiver.delivered_all.is_some(), sender.is_closed), (up, true, true));
    assert_eq!(sender.info.get(&field::bytes_sent).map(|sent| sent >= up + 20), Some(true));
    assert_eq!(last(&outcome.ours.rows, 1).read, down);
    assert!(last(&outcome.theirs, 2).read > 1_000_000 && last(&outcome.theirs, 2).delivered_all.is_none());
    assert!(outcome.base_rtt.iter().all(|rtt| rtt.is_some_and(|rtt| rtt < 1_000_000_000)));
    let line = server.line();
    assert!(line.contains("127.0.0.1 key test: 3 flows") && line.ends_with("ended well"), "{line}");
}

/// Every kind of traffic that a session can have, each way at once: what one end has sent the other has read, and neither hears of an error.
#[test]
fn every_kind_of_traffic_over_tcp_goes_both_ways() {
    // Slow enough for a busy machine, which shares its cores among all ends.
    let server = served(|options| options.limits = Limits { rate: 50_000_000, ..Limits::default() });
    // A session ends when its volumes have come: others test that.
    let kinds: Vec<_> = every_kind().into_iter().filter(|traffic| traffic.is_tcp() && traffic.volume().is_none()).collect();
    assert!(kinds.len() >= 4);
    let flows = kinds.iter().flat_map(|traffic| {
        [Direction::Up, Direction::Down]
            .map(|direction| FlowOffer { application: Application::of(traffic, 1, "flow1"), ..flow(direction, None) })
    });
    let flows: Vec<FlowOffer> = flows.collect();
    let outcome = run(server.port, Some(&key()), 3000, flows.clone(), &mut |_| true).unwrap();
    for (number, flow) in (0..).zip(&flows) {
        let [sent, read] = match flow.direction {
            Direction::Up => [&outcome.ours.rows, &outcome.theirs],
            Direction::Down => [&outcome.theirs, &outcome.ours.rows],
        };
        let last = |rows: &[super::rows::Row]| rows.iter().rfind(|row| row.flow == number).unwrap().clone();
        let (sent, read) = (last(sent).info.get(&field::bytes_sent).unwrap(), last(read).read);
        assert!(read > 0 && read <= sent, "{} {:?}: {read} of {sent}", flow.application.kind, flow.direction);
    }
    assert!(server.line().ends_with("ended well"));
}

/// One flow over UDP each way, and what the two ends of both counted.
fn over_udp(traffic: &Traffic, ms: u64, stop_us: u64, limits: Limits) -> (Outcome, Vec<[Counted; 2]>) {
    let server = served(|options| options.limits = limits);
    let flows = [Direction::Up, Direction::Down].map(|direction| FlowOffer {
        application: Application::of(traffic, 1, "flow1"),
        window: None,
        stop_us: Some(stop_us),
        ..flow(direction, None)
    });
    let outcome = run(server.port, Some(&key()), ms, flows.to_vec(), &mut |_| true).unwrap();
    assert!(server.line().ends_with("ended well"));
    let [ours, theirs] = &outcome.datagrams;
    let last = |of: &super::datagrams::Left, flow| *of.counted.iter().rfind(|counts| counts.flow == flow).unwrap();
    let counted = vec![[last(ours, 0), last(theirs, 0)], [last(theirs, 1), last(ours, 1)]];
    (outcome, counted)
}

/// Every kind of traffic over UDP each way, against what its schedule has: no packet more, each with its payload, and its times.
#[test]
fn every_kind_of_traffic_over_udp_goes_both_ways() {
    let kinds: Vec<Traffic> = every_kind().into_iter().filter(|traffic| !traffic.is_tcp()).collect();
    assert_eq!(kinds.len(), 4);
    for kind in kinds {
        // Slow enough for a busy machine.
        let (ms, rate) = (Span::from_millis, |bps| Value::Rate(Rate::from_bps(bps)));
        let params = match kind.kind().name {
            "udp" => vec![("rate", rate(400_000))],
            "udpmon" => vec![("packets", Value::Count(100)), ("gap", Value::Duration(ms(5)))],
            "sinusoid" => vec![("mean", rate(400_000)), ("amplitude", rate(200_000)), ("period", Value::Duration(ms(100)))],
            "on_off" => vec![("rate", rate(800_000)), ("on", Value::Duration(ms(40))), ("off", Value::Duration(ms(40)))],
            other => panic!("{other}: write an example"),
        };
        let traffic = Traffic::of(kind.kind().name, &[params, vec![("size", Value::Bytes(200))]].concat());
        let (outcome, counted) = over_udp(&traffic, 1500, 800_000, Limits::default());
        let scheduled = {
            let application = Application::of(&traffic, 1, "flow1");
            let mut source = application.datagrams(&traffic, true, Time::ZERO, Time::ZERO + Span::from_millis(800));
            std::iter::from_fn(|| source.poll_transmit(Time::ZERO + Span::from_secs(10))).count() as u64
        };
        let name = traffic.kind().name;
        let payload = u64::from(traffic.packet_size().unwrap() - 28);
        for (flow, [sent, came]) in counted.iter().enumerate() {
            // A sender that is held up to the end leaves some out.
            assert!((1..=scheduled).contains(&(sent.packets + sent.dropped)), "{name} {flow}: {sent:?} of {scheduled}");
            assert_eq!((sent.bytes, came.bytes), (payload * sent.packets, payload * came.packets), "{name} {flow}");
            assert!(came.packets > 0 && came.reached <= sent.packets && came.duplicates == 0, "{name} {flow}: {came:?} of {sent:?}");
            // Nothing is lost over loopback but at a socket that is not read in time.
            assert!(came.packets + came.dropped >= came.reached, "{name} {flow}: {came:?}");
        }
        let [ours, theirs] = &outcome.datagrams;
        for (here, there) in [(ours, theirs), (theirs, ours)] {
            for ((flow, sender), (_, receiver)) in here.stamps.iter().zip(&there.stamps).filter(|((_, stamps), _)| !stamps.sent.is_empty())
            {
                assert!(sender.sent.iter().zip(0..).all(|(sent, number)| sent.number == number && sent.at >= sent.due), "{name} {flow}");
                assert!(sender.sent.is_sorted_by_key(|sent| sent.due) && sender.sent.iter().all(|sent| sent.due < 800_000_000));
                assert_eq!(sender.crossings(receiver).len() as u64, counted[*flow as usize][1].packets, "{name} {flow}");
            }
        }
    }
}

/// A burst without gaps leaves whole, and what its receiver has no room for is counted.
#[test]
fn a_burst_leaves_as_fast_as_the_host_and_is_counted_whole() {
    let (_, counted) =
        over_udp(&Traffic::udpmon(2000, Span::ZERO, 1028), 1000, 1_000_000, Limits { udp_rate: 20_000_000, ..Limits::default() });
    for [sent, came] in counted {
        assert!((1..=2000).contains(&(sent.packets + sent.dropped)), "{sent:?}");
        assert_eq!(came.bytes, 1000 * came.packets);
        assert!(came.packets > 0 && came.packets + came.dropped >= came.reached, "{came:?}");
    }
}

/// Flows over UDP beside TCP, within a rate for all of them.
#[test]
fn udp_and_tcp_share_a_rate() {
    let server = served(|options| options.limits = Limits { rate: 20_000_000, udp_rate: 10_000_000, ..Limits::default() });
    let udp = Application::of(&Traffic::udp(Rate::from_bps(8_000_000), 1500), 1, "flow1");
    let flows = vec![FlowOffer { application: udp, window: None, ..flow(Direction::Up, None) }, flow(Direction::Up, None)];
    let outcome = run_with(
        server.port,
        Some(&key()),
        Offer { flows, probe: Some(ProbeOffer { interval_us: 10_000 }), ..probing(2000, 1) },
        &mut |_| true,
    );
    let outcome = outcome.unwrap();
    let came = outcome.datagrams[1].counted.last().unwrap().bytes;
    let read = outcome.theirs.iter().rfind(|row| row.flow == 1).unwrap().read;
    assert!(came > 0 && read > 0 && 8 * (came + read) < 2 * 20_000_000 * 11 / 10, "{came} {read}");
    assert!(!outcome.probes[0].got.is_empty(), "probes beside them");
    assert!(server.line().ends_with("ended well"));
}

#[test]
fn udp_beyond_the_limit_is_refused() {
    let server = served(|options| options.open = true);
    let udp = |rate| FlowOffer {
        application: Application::of(&Traffic::udp(Rate::from_bps(rate), 1500), 1, "flow1"),
        window: None,
        ..flow(Direction::Down, None)
    };
    let said = why(run(server.port, Some(&key()), 200, vec![udp(20_000_000)], &mut |_| true));
    assert!(said.contains("limit `udp_rate` is 10000000"), "{said}");
    let said = why(run(server.port, None, 200, vec![udp(1000)], &mut |_| true));
    assert!(said.contains("limit `udp_rate` is 0"), "{said}");
}

/// An application that reads 2 Mbit/s, at either end.
#[test]
fn a_slow_reader_reads_as_fast_as_it_says() {
    let server = served(|_| {});
    let slow = |direction, volume| FlowOffer { read_rate: Some(2_000_000), ..flow(direction, volume) };
    let flows = vec![slow(Direction::Up, None), slow(Direction::Down, None), slow(Direction::Up, Some(50_000))];
    let outcome = run(server.port, Some(&key()), 2000, flows, &mut |_| true).unwrap();
    let last = |rows: &[super::rows::Row], flow| rows.iter().rfind(|row| row.flow == flow).unwrap().clone();
    for row in [last(&outcome.theirs, 0), last(&outcome.ours.rows, 1)] {
        // A busy machine reads less.
        assert!((1..=600_000).contains(&row.read) && row.unread > 10_000, "{} read, {} unread", row.read, row.unread);
    }
    let volume = last(&outcome.theirs, 2);
    assert!(volume.read == 50_000 && volume.delivered_all.is_some(), "the end of the stream is seen: {volume:?}");
}

/// The window scale comes with the handshake. It rounds the window up to a multiple: 20480 bytes, where this kernel's buffers may have 33 MB.
#[test]
fn a_window_binds_the_sender_to_the_byte() {
    let server = served(|_| {});
    let windows = [20_000, 300_000];
    for window in windows.map(Some).into_iter().chain([None]) {
        let flows = vec![FlowOffer { window, ..flow(Direction::Up, None) }];
        let outcome = run(server.port, Some(&key()), 1000, flows, &mut |_| true).unwrap();
        let rows = &outcome.ours.rows;
        let mut later: Vec<u64> = rows[rows.len() / 2..].iter().filter_map(|row| row.info.get(&field::snd_wnd)).collect();
        later.sort_unstable();
        let middle = later[later.len() / 2];
        match window {
            // A window of full segments is up to one of them smaller: 64 KiB over loopback.
            Some(window) => assert!(middle > 0 && middle <= window, "{middle} bytes for {window}"),
            None => assert!(middle > 2 * windows[1], "the next session has {middle} bytes"),
        }
    }
}

/// The server may say that it is ready before the client has heard from its own thread that the data connections are made.
#[test]
fn no_flow_is_lost_when_the_server_is_ready_first() {
    let server = served(|_| {});
    for session in 0..25 {
        let outcome = run(server.port, Some(&key()), 30, vec![flow(Direction::Down, None)], &mut |_| true).unwrap();
        assert!(outcome.ours.rows.iter().any(|row| row.read > 0), "session {session}: nothing was read");
    }
}

#[test]
fn a_caller_that_stops_has_what_there_is() {
    let server = served(|_| {});
    let outcome = run(server.port, Some(&key()), 60_000, vec![flow(Direction::Down, None)], &mut |now| now < 500_000_000).unwrap();
    assert!(outcome.cut_by == cut::USER && (500_000_000..5_000_000_000).contains(&outcome.end), "{}", outcome.end);
    assert!(outcome.ours.rows.len() > 10 && outcome.theirs.len() > 10);
    assert!(server.line().ends_with("ended well"));
}

#[test]
fn data_is_sent_and_received_in_each_way_and_one_tells_of_copies() {
    let server = served(|_| {});
    for direction in [Direction::Up, Direction::Down] {
        let ways = [(SendWay::Copy, ReceiveWay::Copy), (SendWay::Sendfile, ReceiveWay::Truncate), (SendWay::Zerocopy, ReceiveWay::Copy)];
        let flows = ways.map(|(send, receive)| FlowOffer { send, receive, ..flow(direction, Some(3_000_000)) });
        let outcome = run(server.port, Some(&key()), 60_000, flows.to_vec(), &mut |_| true).unwrap();
        let (senders, receivers) =
            if direction == Direction::Up { (outcome.ours.rows, outcome.theirs) } else { (outcome.theirs, outcome.ours.rows) };
        let most =
            |rows: &[Row], of: fn(&Row) -> u64| [0, 1, 2].map(|flow| rows.iter().filter(|row| row.flow == flow).map(of).max().unwrap_or(0));
        assert_eq!(most(&receivers, |row| row.read), [3_000_000; 3], "{direction:?}");
        let [completed, copied] = [most(&senders, |row| row.completed), most(&senders, |row| row.copied)];
        // Over loopback the kernel copies for the reader.
        assert!(completed[..2] == [0, 0] && completed[2] > 0 && copied == completed, "{completed:?} {copied:?}");
    }
}

#[test]
fn only_who_has_the_key_comes_in() {
    let server = served(|_| {});
    let started = Instant::now();
    let said = why(run(server.port, Some(&Key::new([8; 32])), 100, vec![flow(Direction::Up, None)], &mut |_| true));
    assert!(said.contains("does not know this key"), "{said}");
    let said = why(run(server.port, None, 100, vec![flow(Direction::Up, None)], &mut |_| true));
    assert!(said.contains("lets nobody in without one"), "{said}");
    // The name of a key without the key: the handshake fails.
    let mut stream = server.connect();
    stream.write_all(&Hello::new(Some(key().id())).to_bytes()).unwrap();
    stream.write_all(&[&[0, 48][..], &[9; 48]].concat()).unwrap();
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    assert!(started.elapsed() < Duration::from_secs(5), "nobody waits to be refused");
    assert!(server.lines.try_recv().is_err(), "strangers fill no log");
}

#[test]
fn a_server_tells_what_it_would_grant_also_without_surveys_and_udp() {
    let limits = Limits { seconds: 15, bytes: 1 << 30, rate: 1_000_000_000, udp_rate: 0, survey_bytes: 0, ..Limits::default() };
    let server = served(|options| options.limits = limits);
    let at = format!("127.0.0.1:{}", server.port);
    for (asked, granted) in [(42_000, 15_000), (3000, 3000)] {
        let (told, base_rtt) = greet(&at, Some(&key()), asked, &mut || true).unwrap();
        assert_eq!((told.ms, told.bytes, told.rate), (granted, 1 << 30, Some(1_000_000_000)));
        assert!(!told.settings.is_empty() && base_rtt.is_some_and(|rtt| rtt < 1_000_000_000), "{base_rtt:?}");
    }
    assert!(greet(&at, Some(&Key::new([8; 32])), 3000, &mut || true).is_err(), "a stranger");
    // The session is over at the server as well: it lets one run at a time.
    assert!(run(server.port, Some(&key()), 100, vec![flow(Direction::Down, None)], &mut |_| true).is_ok());
}

#[test]
fn an_open_server_keeps_to_its_limits() {
    let server = served(|options| {
        options.open = true;
        options.open_limits = Limits { seconds: 1, rate: 8_000_000, flows: 2, ..Limits::open() };
    });
    let ask = |ms, flows| run(server.port, None, ms, flows, &mut |_| true);
    assert!(why(ask(5000, vec![flow(Direction::Down, None)])).contains("lets a session last 1 s"));
    assert!(why(ask(100, vec![flow(Direction::Down, None); 3])).contains("may have 2"));
    let outcome = ask(1000, vec![flow(Direction::Down, None)]).unwrap();
    assert_eq!(outcome.rate_limit, Some(8_000_000));
    let got = outcome.ours.rows.last().unwrap().read;
    assert!((500_000..1_500_000).contains(&got), "8 Mbit/s for a second: {got}");
}

#[test]
fn a_client_that_sends_faster_than_it_may_is_stopped() {
    let server = served(|options| options.limits = Limits { bytes: 1_000_000, ..Limits::default() });
    let said = why(run(server.port, Some(&key()), 10_000, vec![flow(Direction::Up, None)], &mut |_| true));
    assert!(said.contains("the run sent the 1000000 bytes that it may"), "{said}");
    assert!(server.line().contains("1 flow,"));
}

#[test]
fn those_who_say_nothing_or_nonsense_are_few_and_soon_gone() {
    let server = served(|options| options.limits = Limits { network_handshakes: 4, ..Limits::default() });
    // Half-open: more than may be at once. Each is closed at once, or when its time is over.
    let mut silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    thread::sleep(Duration::from_millis(300));
    let mut closed = 0;
    for stream in &mut silent {
        stream.set_nonblocking(true).unwrap();
        closed += usize::from(stream.read(&mut [0; 1]).is_ok_and(|len| len == 0));
    }
    assert_eq!(closed, 16, "all but those that may try");
    let started = Instant::now();
    for stream in &mut silent {
        stream.set_nonblocking(false).unwrap();
        // A byte now and then buys no time.
        let _ = stream.write_all(b"l");
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    for bytes in [&b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n........"[..], &[0xff; 64]] {
        let mut stream = server.connect();
        let _ = stream.write_all(bytes);
        assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    }
    // Whoever plays by the rules comes in.
    run(server.port, Some(&key()), 200, vec![flow(Direction::Up, None)], &mut |_| true).unwrap();
}

#[test]
fn a_token_opens_one_connection_once() {
    let server = served(|_| {});
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut control = Control::client(server.connect(), Some(&key()), deadline).unwrap();
    control
        .send(&Message::Offer(Offer {
            ms: 1000,
            interval_us: 10_000,
            flows: vec![flow(Direction::Down, None); 2],
            probe: None,
            capture: false,
            survey: None,
        }))
        .unwrap();
    let (to, frames) = channel();
    let reader = control.reader().unwrap();
    thread::spawn(move || super::wire::read_frames(reader, |frame| to.send(frame).is_ok()));
    let mut next = || loop {
        match control.open(&frames.recv_timeout(Duration::from_secs(10)).unwrap()).unwrap() {
            Message::Heartbeat(_) => {}
            other => return other,
        }
    };
    let Message::Granted(granted) = next() else { panic!("it is granted") };
    let join = |token: [u8; 16]| {
        let mut stream = server.connect();
        stream.write_all(&[&DATA_MAGIC[..], &token].concat()).unwrap();
        stream
    };
    let first = join(granted.tokens[0].0);
    thread::sleep(Duration::from_millis(200));
    for token in [granted.tokens[0].0, [9; 16]] {
        assert_eq!(join(token).read(&mut [0; 1]).unwrap_or(0), 0, "replayed, or made up");
    }
    let second = join(granted.tokens[1].0);
    assert!(matches!(next(), Message::Ready(_)));
    drop((first, second));
}

/// The door knows how many connections a session still has to open: they may come all at once.
#[test]
fn streams_of_a_session_come_all_at_once() {
    let server = served(|_| {});
    let offer = Offer { flows: vec![flow(Direction::Up, None); 32], probe: None, ..probing(1000, 10_000) };
    assert!(offer.flows.len() > Limits::default().network_handshakes as usize);
    let (mut control, next, granted) = offered(&server, offer);
    let streams: Vec<_> = granted.tokens.iter().map(|_| server.connect()).collect();
    // The door has seen all of them before it hears from any.
    thread::sleep(Duration::from_millis(300));
    for (mut stream, token) in streams.iter().zip(&granted.tokens) {
        stream.write_all(&[&DATA_MAGIC[..], &token.0].concat()).unwrap();
    }
    assert!(matches!(next(&mut control), Some(Message::Ready(_))));
}

fn probing(ms: u64, interval_us: u64) -> Offer {
    Offer {
        ms,
        interval_us: 10_000,
        flows: vec![flow(Direction::Up, None)],
        probe: Some(ProbeOffer { interval_us }),
        capture: false,
        survey: None,
    }
}

#[test]
fn probes_go_both_ways_beside_the_flows() {
    let server = served(|_| {});
    let outcome = run_with(server.port, Some(&key()), probing(1000, 10_000), &mut |_| true).unwrap();
    let [ours, theirs] = &outcome.probes;
    for (here, there) in [(ours, theirs), (theirs, ours)] {
        // A thread that is held up leaves some out.
        assert!((5..=101).contains(&here.sent.iter().filter(|sent| sent.due <= 1_000_000_000).count()), "{}", here.sent.len());
        assert!(here.sent.iter().all(|sent| sent.due == 10_000_000 * u64::from(sent.number) && sent.at >= sent.due));
        let crossings = here.crossings(there);
        assert!(crossings.len() * 10 >= here.sent.len() * 9, "{} of {}", crossings.len(), here.sent.len());
    }
    let waits = crate::envelope::waits(&times(&ours.crossings(theirs)), &times(&theirs.crossings(ours))).unwrap();
    // Both ends have the clock of this host.
    assert!((0.0..20e6).contains(&waits.base_rtt), "{}", waits.base_rtt);
    assert!(server.line().ends_with("ended well"));
}

#[test]
fn sessions_at_the_same_time_have_their_own_probes() {
    let server = served(|options| options.concurrent = 2);
    let port = server.port;
    let first = thread::spawn(move || run_with(port, Some(&key()), probing(1000, 20_000), &mut |_| true));
    let second = run_with(port, Some(&key()), probing(1000, 20_000), &mut |_| true).unwrap();
    for outcome in [first.join().unwrap().unwrap(), second] {
        let [ours, theirs] = &outcome.probes;
        assert!(ours.crossings(theirs).len() > 15 && theirs.crossings(ours).len() > 15);
        assert!(ours.got.len() <= theirs.sent.len() && theirs.got.len() <= ours.sent.len(), "none of another session");
    }
}

#[test]
fn an_open_server_grants_no_probes() {
    let server = served(|options| options.open = true);
    let outcome = run_with(server.port, None, probing(200, 10_000), &mut |_| true).unwrap();
    assert!(outcome.probes.iter().all(|stamps| stamps.sent.is_empty() && stamps.got.is_empty()));
    let server = served(|options| options.limits = Limits { udp_rate: 1000, ..Limits::default() });
    let outcome = run_with(server.port, Some(&key()), probing(200, 10_000), &mut |_| true).unwrap();
    assert!(outcome.probes.iter().all(|stamps| stamps.sent.is_empty()), "faster than the limit");
}

/// Next message of a session, but for heartbeats; `None`: it is over.
type Next = Box<dyn Fn(&mut Control) -> Option<Message>>;

/// A session up to its grant: the control connection, what comes of it, and the grant.
fn offered(server: &Served, offer: Offer) -> (Control, Next, Granted) {
    let mut control = Control::client(server.connect(), Some(&key()), Instant::now() + Duration::from_secs(10)).unwrap();
    control.send(&Message::Offer(offer)).unwrap();
    let (to, frames) = channel();
    let reader = control.reader().unwrap();
    thread::spawn(move || super::wire::read_frames(reader, |frame| to.send(frame).is_ok()));
    let next = move |control: &mut Control| loop {
        match control.open(&frames.recv_timeout(Duration::from_secs(10)).ok()?).unwrap() {
            Message::Heartbeat(_) => {}
            other => return Some(other),
        }
    };
    let Some(Message::Granted(granted)) = next(&mut control) else { panic!("it is granted") };
    (control, Box::new(next), granted)
}

/// A session of one TCP flow up to its data connection, and the token of its probes.
fn granted(server: &Served) -> (Control, Next, Token) {
    let (control, next, granted) = offered(server, probing(1000, 10_000));
    let mut stream = server.connect();
    stream.write_all(&[&DATA_MAGIC[..], &granted.tokens[0].0].concat()).unwrap();
    // The connection stays for as long as the test.
    std::mem::forget(stream);
    (control, next, granted.probe.unwrap())
}

fn asks(server: &Served, question: &[u8]) -> (UdpSocket, Option<Token>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    socket.send(question).unwrap();
    let mut bytes = [0; 64];
    let nonce = socket.recv(&mut bytes).ok().map(|len| of_datagram(&bytes[..len]).unwrap());
    (socket, nonce)
}

/// No datagram goes to an address that has not returned what it was sent.
#[test]
fn datagrams_go_only_to_who_has_shown_that_it_wants_them() {
    let server = served(|_| {});
    let (mut control, next, token) = granted(&server);
    let (other, nothing) = asks(&server, &datagram(Token([9; 16])));
    assert_eq!(nothing, None, "no token");
    assert_eq!(asks(&server, &[&datagram(token)[..], &[0]].concat()).1, None, "not a question");
    let (socket, nonce) = asks(&server, &datagram(token));
    let (third, taken) = asks(&server, &datagram(token));
    assert_eq!((nonce.is_some(), taken), (true, None), "the first address has it");
    control.send(&Message::Reached(Reached { nonce, flows: Vec::new() })).unwrap();
    assert!(matches!(next(&mut control), Some(Message::Ready(_))));
    assert!(socket.recv(&mut [0; 64]).is_err(), "not before the start");
    control.send(&Message::Start).unwrap();
    assert_eq!(next(&mut control), Some(Message::Running));
    let mut bytes = [0; 64];
    assert_eq!(socket.recv(&mut bytes).unwrap(), ProbeOffer::BYTES);
    for socket in [other, third] {
        assert!(socket.recv(&mut bytes).is_err());
    }
    // The session ends: so do they.
    control.close();
    assert!(server.line().contains("the other side closed the connection"));
    let begun = Instant::now();
    while socket.recv(&mut bytes).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

/// A flow of UDP from the server goes to the port that has returned its nonce, and to nobody before.
#[test]
fn a_flow_over_udp_goes_only_to_who_has_shown_that_it_wants_it() {
    let server = served(|_| {});
    let udp = Application::of(&Traffic::udp(Rate::from_bps(800_000), 100), 1, "flow1");
    let down = FlowOffer { application: udp, window: None, ..flow(Direction::Down, None) };
    let (mut control, next, granted) = offered(&server, Offer { flows: vec![down], probe: None, ..probing(1000, 10_000) });
    let token = granted.tokens[0];
    // A token of UDP opens no data connection.
    let mut stream = server.connect();
    stream.write_all(&[&DATA_MAGIC[..], &token.0].concat()).unwrap();
    let (other, nothing) = asks(&server, &datagram(Token([9; 16])));
    let (socket, nonce) = asks(&server, &datagram(token));
    let (third, taken) = asks(&server, &datagram(token));
    assert_eq!((nothing, nonce.is_some(), taken), (None, true, None), "the first address has it");
    control.send(&Message::Reached(Reached { nonce: None, flows: vec![nonce.unwrap()] })).unwrap();
    assert!(matches!(next(&mut control), Some(Message::Ready(_))));
    assert!(socket.recv(&mut [0; 256]).is_err(), "not before the start");
    control.send(&Message::Start).unwrap();
    assert_eq!(next(&mut control), Some(Message::Running));
    let mut bytes = [0; 256];
    assert_eq!((socket.recv(&mut bytes).unwrap(), &bytes[..8]), (72, &nonce.unwrap().0[..8]));
    for socket in [other, third] {
        assert!(socket.recv(&mut bytes).is_err());
    }
    control.close();
    assert!(server.line().contains("the other side closed the connection"));
    let begun = Instant::now();
    while socket.recv(&mut bytes).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

/// A client that sends more than its flow has ends the run by the server's count, whatever it puts into its datagrams.
#[test]
fn a_flow_over_udp_that_lies_ends_the_run() {
    let server = served(|options| options.limits = Limits { udp_rate: 20_000, ..Limits::default() });
    let udp = Application::of(&Traffic::udp(Rate::from_bps(8_000), 100), 1, "flow1");
    let up = FlowOffer { application: udp, window: None, ..flow(Direction::Up, None) };
    let (mut control, next, granted) = offered(&server, Offer { flows: vec![up], probe: None, ..probing(2000, 10_000) });
    let (socket, nonce) = asks(&server, &datagram(granted.tokens[0]));
    control.send(&Message::Reached(Reached { nonce: None, flows: vec![nonce.unwrap()] })).unwrap();
    assert!(matches!(next(&mut control), Some(Message::Ready(_))));
    control.send(&Message::Start).unwrap();
    assert_eq!(next(&mut control), Some(Message::Running));
    for number in 0..20_u8 {
        // The right tag and a number that cannot be, or neither.
        let label = [&nonce.unwrap().0[..8], &[0xff; 4]].concat();
        socket.send(&[if number % 2 == 0 { label } else { vec![0; 12] }, vec![0; 988]].concat()).unwrap();
    }
    let done = (0..20).find_map(|_| match next(&mut control) {
        Some(Message::Done(reason)) => Some(reason.why),
        _ => None,
    });
    assert!(done.is_some_and(|why| why.contains("the datagrams were faster than the 20000 bit/s")));
}

#[test]
fn who_makes_up_a_nonce_is_thrown_out() {
    let server = served(|_| {});
    for asked in [true, false] {
        let (mut control, next, token) = granted(&server);
        if asked {
            asks(&server, &datagram(token)).1.unwrap();
        }
        control.send(&Message::Reached(Reached { nonce: Some(Token([5; 16])), flows: Vec::new() })).unwrap();
        assert_eq!(next(&mut control), None);
        assert!(server.line().contains("a nonce that it was not sent"));
    }
}

#[test]
fn probes_faster_than_granted_end_the_run() {
    let server = served(|options| options.limits = Limits { udp_rate: 20_000, ..Limits::default() });
    let (mut control, next, token) = granted(&server);
    let (socket, nonce) = asks(&server, &datagram(token));
    control.send(&Message::Reached(Reached { nonce, flows: Vec::new() })).unwrap();
    assert!(matches!(next(&mut control), Some(Message::Ready(_))));
    control.send(&Message::Start).unwrap();
    assert_eq!(next(&mut control), Some(Message::Running));
    // 20 kbit/s are 2500 bytes per second.
    for _ in 0..20 {
        socket.send(&[0; 1000]).unwrap();
    }
    let done = (0..20).find_map(|_| match next(&mut control) {
        Some(Message::Done(reason)) => Some(reason.why),
        _ => None,
    });
    assert!(done.is_some_and(|why| why.contains("the datagrams were faster than the 20000 bit/s")));
}

/// 10^4 questions that nobody may ask: no answer, and whoever may is answered all the same.
#[test]
fn a_flood_of_questions_has_no_answer() {
    let server = served(|_| {});
    let (_control, _next, token) = granted(&server);
    let (flood, nothing) = asks(&server, &datagram(Token([0; 16])));
    for number in 0..10_000_u32 {
        let mut forged = [0; 16];
        forged[..4].copy_from_slice(&number.to_be_bytes());
        // A full buffer drops some.
        let _ = flood.send(&datagram(Token(forged)));
    }
    assert!(nothing.is_none() && flood.recv(&mut [0; 64]).is_err());
    assert!(asks(&server, &datagram(token)).1.is_some());
}

#[test]
fn one_session_runs_at_a_time_and_the_next_waits() {
    let server = served(|_| {});
    let port = server.port;
    let first = thread::spawn(move || run(port, Some(&key()), 1500, vec![flow(Direction::Up, None)], &mut |_| true));
    thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    run(port, Some(&key()), 100, vec![flow(Direction::Up, None)], &mut |_| true).unwrap();
    assert!(started.elapsed() > Duration::from_millis(700), "{:?}", started.elapsed());
    first.join().unwrap().unwrap();
}

#[test]
fn sessions_at_the_same_time_are_told_of_each_other() {
    let server = served(|options| options.concurrent = 2);
    let port = server.port;
    let (is_over, has_begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (over, begun) = (Arc::clone(&is_over), Arc::clone(&has_begun));
    let first = thread::spawn(move || {
        run(port, Some(&key()), 30_000, vec![flow(Direction::Up, None)], &mut |now| {
            begun.fetch_or(now > 0, Relaxed);
            !over.load(Relaxed)
        })
    });
    while !has_begun.load(Relaxed) && !first.is_finished() {
        thread::sleep(Duration::from_millis(5));
    }
    let second = run(port, Some(&key()), 200, vec![flow(Direction::Up, None)], &mut |_| true).unwrap();
    is_over.store(true, Relaxed);
    let first = first.join().unwrap().unwrap();
    let alone = run(port, Some(&key()), 50, vec![flow(Direction::Up, None)], &mut |_| true).unwrap();
    let lasted = |spells: &[[u64; 2]]| spells.iter().map(|[from, to]| to - from).sum::<u64>();
    assert!(second.beside.len() == 1 && second.beside[0][0] == 0, "the first ran before it: {:?}", second.beside);
    assert!(first.beside.len() == 1 && first.beside[0][0] > 0, "{:?}", first.beside);
    assert_eq!((lasted(&first.beside), alone.beside.len()), (lasted(&second.beside), 0), "one time, by one clock");
}

#[test]
fn a_server_that_ends_says_goodbye_in_time() {
    let server = served(|_| {});
    let stop = Arc::clone(&server.stop);
    let started = Instant::now();
    let mut ask = |now: u64| {
        if now > 300_000_000 {
            stop.store(true, Relaxed);
        }
        true
    };
    let said = why(run(server.port, Some(&key()), 60_000, vec![flow(Direction::Up, None)], &mut ask));
    assert!(said.contains("the other side closed the connection"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

/// Both ends capture where they may, and tell verdicts alone. A client without a key, and one of an operator who does not allow it, get none.
#[test]
fn both_ends_capture_their_own_flows_if_they_may() {
    let offer = |flows| Offer { ms: 1500, interval_us: 10_000, flows, probe: None, capture: true, survey: None };
    let flows = || vec![flow(Direction::Up, Some(300_000)), flow(Direction::Down, Some(300_000))];
    for (is_allowed, has_key) in [(true, true), (true, false), (false, true)] {
        let served = served(|options| {
            options.capture = is_allowed;
            options.open = true;
        });
        let key = key();
        let outcome = run_with(served.port, has_key.then_some(&key), offer(flows()), &mut |_| true).unwrap();
        let [near, far] = &outcome.captured;
        assert_eq!(far.rows, [], "packets stay where they were captured");
        if !is_allowed || !has_key {
            assert_eq!((far.seen.outcome, far.seen.packets, far.judged.len()), (Seen::NOT_ALLOWED, 0, 0));
            continue;
        }
        if near.seen.outcome == Seen::NO_RIGHT {
            assert_eq!(far.seen.outcome, Seen::NO_RIGHT, "one process is both ends here");
            return eprintln!("skipped in part: this test needs CAP_NET_RAW");
        }
        for left in [near, far] {
            assert_eq!((left.seen.outcome, left.seen.lost, left.judged.len()), (Seen::CAPTURED, 0, 2), "{left:?}");
            assert!(left.seen.packets > 10);
        }
        assert_eq!(near.rows.len() as u64, near.seen.packets, "no packet of another connection is among them");
        for number in [0, 1] {
            let payload: u64 = near.rows.iter().filter(|row| row.flow == number && !row.is_back).map(|row| u64::from(row.len)).sum();
            assert!(payload >= 300_000, "{payload}");
            let sent = near.rows.iter().find(|row| row.flow == number && row.len > 0).unwrap().kind;
            assert_eq!(sent, if number == 0 { PacketKind::Sent } else { PacketKind::Delivered });
        }
    }
}

#[test]
fn a_server_without_a_key_for_anybody_does_not_start() {
    let options = ServeOptions {
        bind: None,
        port: 0,
        keys: Vec::new(),
        open: false,
        limits: Limits::default(),
        open_limits: Limits::open(),
        concurrent: 1,
        capture: false,
        readable: Vec::new(),
        stamp: None,
    };
    let said = serve(options, &mut |_| true).unwrap_err().to_string();
    assert!(said.contains("--key") && said.contains("--open"), "{said}");
}

#[test]
fn addresses_are_written_as_everywhere() {
    let of = |at: &str| addresses(at).unwrap()[0].to_string();
    assert_eq!(
        [of("127.0.0.1"), of("127.0.0.1:1"), of("::1"), of("[::1]:2")],
        [format!("127.0.0.1:{PORT}"), "127.0.0.1:1".to_owned(), format!("[::1]:{PORT}"), "[::1]:2".to_owned()]
    );
    assert!(addresses("nosuchhost.invalid").unwrap_err().to_string().contains("no such host"));
}

/// A reflector of STAMP at a port of its own, which answers loopback alone.
fn reflecting(from: &str) -> (Served, u16) {
    let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let stamp = StampOptions { port, from: vec![from.parse().unwrap()], rate: 1000 };
    (served(|options| (options.stamp, options.keys) = (Some(stamp), Vec::new())), port)
}

#[test]
fn a_reflector_answers_each_packet_with_as_many_bytes_and_nothing_else() {
    let (_server, port) = reflecting("127.0.0.0/8");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.send(&[0; 43]).unwrap();
    socket.send(&[]).unwrap();
    let mut question = [0; 1400];
    for (number, len) in [44, 60, 1400].into_iter().enumerate() {
        stamp::write(7 + number as u32, 1_700_000_000_000_000_000, 5, &mut question);
        socket.send(&question[..len]).unwrap();
        let mut answer = [0; 2000];
        let got = socket.recv(&mut answer).unwrap();
        let read = Answer::parse(&answer[..got]).unwrap();
        assert_eq!((got, read.asked, read.number, read.ssid, read.ttl), (len, 7 + number as u32, number as u32, 5, 64));
        assert!(read.is_to(1_700_000_000_000_000_000, 5) && read.came <= read.left);
    }
}

#[test]
fn a_reflector_is_silent_to_strangers() {
    let (_server, port) = reflecting("192.0.2.0/24");
    let started = Instant::now();
    let said = crate::stamp(&format!("127.0.0.1:{port}"), &mut || true).unwrap_err().to_string();
    assert!(said.contains("none of its packets was answered"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn stamp_tells_round_trips_waits_and_losses() {
    let (_server, port) = reflecting("127.0.0.1");
    let mut calls = 0;
    let mut go_on = || {
        calls += 1;
        calls < 30
    };
    let found = crate::stamp(&format!("127.0.0.1:{port}"), &mut go_on).unwrap();
    assert!(found.is_cut && found.sent > 200 && found.rtt_ns.len() > 100, "{} of {}", found.rtt_ns.len(), found.sent);
    assert_eq!([found.rtt_ns.len(), found.wait_up_ns.len(), found.wait_down_ns.len()], [found.held_ns.len(); 3]);
    assert!(found.rtt_ns.iter().all(|rtt| *rtt < 1_000_000_000));
    assert_eq!((found.routers_up, found.duplicates, found.losses.up.map(|lost| lost < 100)), (Some(0), 0, Some(true)));
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let said = crate::stamp(&nobody.to_string(), &mut || true).unwrap_err().to_string();
    assert!(said.contains("nothing listens there"), "{said}");
}

/// Servers of iperf3 that do not keep to its protocol: each ends the client in time, with one sentence.
#[test]
fn an_iperf3_server_that_talks_nonsense_ends_the_client() {
    let options = IperfOptions { is_up: true, seconds: 1, control: None };
    let words: [(&[u8], &str); 7] = [
        (b"", "closed the connection"),
        (b"\xff", "measures with somebody else"),
        (b"\xfe\0\0\0\x7e\0\0\0\0", "with error 126"),
        (b"\x0b", "was stopped"),
        (b"SSH-2.0", "does not speak iperf3's protocol"),
        (b"\x02", "without a data connection"),
        (b"\x0d\xff\xff\xff\xff", "would have 4294967295 bytes"),
    ];
    for (says, said) in words {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 37]).unwrap();
            stream.write_all(says).unwrap();
            // The client may be gone already.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // The client's words are taken, so that none is answered by a reset.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let why = crate::iperf(&at.to_string(), &options, &mut || true).unwrap_err().to_string();
        assert!(why.contains(said), "{says:?}: {why}");
        server.join().unwrap();
    }
}
