//! Every twin in the kernel: loaded, carrying data, unloaded. Skipped where that is not allowed.
#![cfg(feature = "bpf")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use longfat_bpf::{AGENT, Error, Order, Place, TWINS, Twin, list, load, steer, unload};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

const FOLDER: &str = "/sys/fs/bpf/longfat";
const VOLUME: usize = 8 << 20;

/// The kernel has one set of controls for all: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A control that is loaded as long as this value lives, if that is allowed.
struct Loaded(&'static Twin);

impl Loaded {
    fn new(twin: &'static Twin, changes: &[(&str, &str)]) -> Option<Self> {
        let changes: Vec<_> = changes.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        match load(twin.name, &changes) {
            Ok(name) => {
                assert_eq!(name, twin.kernel_name);
                Some(Loaded(twin))
            }
            Err(why @ (Error::NotAllowed(_) | Error::NoBtf | Error::Loaded(_))) => {
                println!("skipped: {why}");
                None
            }
            Err(why) => panic!("{}: {why}", twin.name),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        unload(self.0.name, true).unwrap();
        assert!(!Path::new(FOLDER).join(self.0.kernel_name).exists());
    }
}

fn connection(control: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    setsockopt(&sender, TcpCongestion, &control.into()).unwrap();
    (sender, listener.accept().unwrap().0)
}

fn place(twin: &Twin) -> Place {
    list().into_iter().find(|one| one.name == twin.kernel_name).unwrap().place
}

#[test]
fn every_twin_carries_data() {
    let _alone = alone();
    for twin in TWINS {
        let Some(loaded) = Loaded::new(twin, &[]) else { return };
        assert_eq!(place(twin), Place::Loaded);
        let (mut sender, mut receiver) = connection(twin.kernel_name);
        let has = getsockopt(&sender, TcpCongestion).unwrap();
        assert_eq!(has.to_string_lossy().trim_end_matches('\0'), twin.kernel_name);
        let reader = std::thread::spawn(move || {
            let mut sum = 0;
            let mut chunk = vec![0; 1 << 16];
            while let n @ 1.. = receiver.read(&mut chunk).unwrap() {
                sum += n;
            }
            sum
        });
        sender.write_all(&vec![7; VOLUME]).unwrap();
        drop(sender);
        assert_eq!(reader.join().unwrap(), VOLUME, "{}", twin.name);
        drop(loaded);
        assert_eq!(place(twin), Place::Set);
    }
    assert!(!Path::new(FOLDER).exists(), "nothing is left");
}

#[test]
fn what_is_in_use_goes_only_by_force() {
    let _alone = alone();
    let twin = &TWINS[0];
    let Some(loaded) = Loaded::new(twin, &[("legacy_window", "20 segments")]) else { return };
    assert_eq!(load(twin.name, &[]), Err(Error::Loaded(twin.kernel_name)));
    let ends = connection(twin.kernel_name);
    assert_eq!(unload(twin.name, false), Err(Error::InUse { name: twin.kernel_name, users: 1 }));
    drop(loaded);
    assert_eq!(unload(twin.name, false), Err(Error::NotLoaded(twin.kernel_name)));
    // The connection still uses the control.
    assert_eq!(getsockopt(&ends.0, TcpCongestion).unwrap().to_string_lossy().trim_end_matches('\0'), twin.kernel_name);
}

/// An agent that orders 4 segments reads steps of 4 segments, and one that orders a rate is paced.
#[test]
fn an_agent_steers_a_socket() {
    let _alone = alone();
    let steered = match steer() {
        Ok(steered) => steered,
        Err(why @ (Error::NotAllowed(_) | Error::NoBtf | Error::Loaded(_))) => return println!("skipped: {why}"),
        Err(why) => panic!("{why}"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_tcp_congestion(AGENT.as_bytes()).unwrap();
    socket.set_send_buffer_size(1 << 16).unwrap();
    let mut order = Order::default();
    steered.begin(&socket, order).unwrap();
    socket.connect(&listener.local_addr().unwrap().into()).unwrap();
    let (mut sender, mut receiver) = (TcpStream::from(socket), listener.accept().unwrap().0);
    let reader = std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()).unwrap());
    let (mut steps, mut last) = (0, None);
    for _ in 0..VOLUME >> 16 {
        sender.write_all(&[7; 1 << 16]).unwrap();
        let Some(step) = steered.step(&sender, order.taken).unwrap() else { continue };
        assert_eq!(step.number, order.taken + 1, "a step stays until it is taken");
        (order.cwnd, order.taken) = (4, step.number);
        steered.order(&sender, order).unwrap();
        (steps, last) = (steps + 1, Some(step));
    }
    drop(sender);
    assert_eq!(reader.join().unwrap() as usize, VOLUME);
    let step = last.unwrap();
    let measured = step.measured(1000);
    assert!(steps > 3 && step.cwnd == 4, "{steps} {step:?}");
    assert!(measured.sums.delivered >= 1000 && measured.in_flight <= 4000 && measured.sums.rtts > 0.0, "{measured:?}");
    assert!(measured.now > measured.begin && measured.rtt_min > longfat_core::time::Duration::ZERO, "{measured:?}");
}
