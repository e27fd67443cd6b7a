//! Senders as each of their ACKs finds them: the kernel's tracepoint `tcp_probe`, in an instance of the tracer that nobody else uses
//! (ftrace.rst of the kernel's documentation).

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::net::SocketAddrV4;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use longfat_host::clock::Clock;
use longfat_model::Experiment;
use longfat_record::trace::AckSample;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::Error;
use crate::linux::frame::{TCP, Tuple};
use crate::linux::lock::folder;

/// Folder of the tracer's files.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Instance of the one testbed that can run ([`crate::linux::lock`]).
const INSTANCE: &str = "instances/longfat";
/// Size of a core's buffer, in KiB: half a second of 200,000 ACKs per second.
const BUFFER_KIB: &str = "16384";
/// Time for which the reader sleeps when there is nothing to read.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Probe of senders: the tracepoint is on, and a thread reads its output, until this is finished or dropped.
#[derive(Debug)]
pub struct Probe {
    instance: Instance,
    stop: Arc<AtomicBool>,
    reader: Option<thread::JoinHandle<Heard>>,
}

/// An instance of the tracer. Dropped, it is gone.
#[derive(Debug)]
struct Instance(Tracefs);

/// The tracer's files, seen through a descriptor: they need not be mounted where others see them.
#[derive(Debug)]
struct Tracefs(File);

impl Tracefs {
    fn open() -> Result<Self, Error> {
        let mounted = || {
            unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_FS)?;
            mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
            match mount(Some("tracefs"), TRACEFS, Some("tracefs"), MsFlags::empty(), None::<&str>) {
                // The file system is mounted already, as on most machines.
                Ok(()) | Err(Errno::EBUSY) => {}
                Err(other) => return Err(other.into()),
            }
            OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(TRACEFS)
        };
        let opened: std::io::Result<File> = thread::scope(|scope| scope.spawn(mounted).join()).expect("mounting does not panic");
        opened.map(Tracefs).map_err(|e| unavailable(&e))
    }

    fn path(&self, of: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(of)
    }
}

fn unavailable(why: &dyn std::fmt::Display) -> Error {
    Error::system("`measure.acks` needs the kernel's tracepoint tcp_probe (tracefs), which cannot be used", why)
}

impl Instance {
    /// A new one, of which a note is made before.
    fn new() -> Result<Self, Error> {
        let instance = Instance(Tracefs::open()?);
        fs::write(note(), "").map_err(|e| unavailable(&e))?;
        fs::create_dir(instance.0.path(INSTANCE)).map_err(|e| unavailable(&e))?;
        Ok(instance)
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        fs::write(self.0.path(INSTANCE).join(name), value).map_err(|e| unavailable(&format!("{name}: {e}")))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("events/tcp/tcp_probe/enable", "0");
        let _ = fs::remove_dir(self.0.path(INSTANCE));
        let _ = fs::remove_file(note());
    }
}

/// Returns the file that notes an instance.
fn note() -> PathBuf {
    folder().join("tracer")
}

/// Removes the instance of a run that was killed, if there is one.
pub fn remove_left() {
    if note().exists()
        && let Ok(files) = Tracefs::open()
    {
        drop(Instance(files));
    }
}

impl Probe {
    /// Starts to probe.
    ///
    /// # Errors
    /// A kernel without the tracepoint; no right to use it.
    pub fn start() -> Result<Self, Error> {
        let instance = Instance::new()?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", BUFFER_KIB)?;
        // Segments with data come to a receiver.
        instance.set("events/tcp/tcp_probe/filter", "data_len == 0")?;
        let path = instance.0.path(INSTANCE).join("trace_pipe");
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|e| unavailable(&e))?;
        instance.set("events/tcp/tcp_probe/enable", "1")?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let reader = thread::spawn(move || read(pipe, &stopped));
        Ok(Probe { instance, stop, reader: Some(reader) })
    }

    /// Stops, and returns the samples of the flows of `experiment`, whose connections are `tuples` and whose first bytes have the sequence
    /// numbers `first`, by `clock`.
    ///
    /// # Errors
    /// The buffer ran over.
    pub fn finish(mut self, experiment: &Experiment, tuples: &[Tuple], first: &[u32], clock: Clock) -> Result<Vec<AckSample>, Error> {
        self.instance.set("events/tcp/tcp_probe/enable", "0")?;
        self.stop.store(true, Ordering::Relaxed);
        let heard = self.reader.take().expect("it is finished once").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if heard.has_lost {
            let why = "the tracer's buffer ran over. Measure fewer ACKs: a lower rate, a shorter run, or `interval` in place of `acks`";
            return Err(Error::system("`measure.acks`", why));
        }
        let flows: HashMap<Tuple, usize> = tuples.iter().copied().zip(0..).collect();
        let mut reached: Vec<(u64, u64)> = vec![(0, 0); tuples.len()];
        let mut samples = Vec::new();
        for said in heard.said {
            let Some(&flow) = flows.get(&said.tuple) else { continue };
            let mss = u64::from(experiment.flows[flow].sender.mss);
            let (acked, sent) = &mut reached[flow];
            *acked = ahead(*acked, said.una.wrapping_sub(first[flow]));
            *sent = ahead(*sent, said.nxt.wrapping_sub(first[flow]));
            samples.push(AckSample {
                time: clock.at(said.ns),
                flow: flow as u32,
                acked: *acked,
                sent: *sent,
                cwnd: said.cwnd * mss,
                ssthresh: if said.ssthresh >= 0x7fff_ffff { u64::MAX } else { said.ssthresh * mss },
                rwnd: said.rwnd,
                srtt_s: said.srtt_us as f64 / 1e6,
            });
        }
        samples.sort_by_key(|sample| (sample.time, sample.flow));
        Ok(samples)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Returns the 64 bits of a sequence number near `before` whose lower half is `low`.
fn ahead(before: u64, low: u32) -> u64 {
    before.saturating_add_signed(i64::from(low.wrapping_sub(before as u32) as i32))
}

/// Output of the tracer so far.
#[derive(Debug, Default)]
struct Heard {
    said: Vec<Said>,
    /// True if the tracer's buffer has overflowed.
    has_lost: bool,
    /// Start of a line whose end is still to come.
    begun: Vec<u8>,
}

impl Heard {
    /// Takes in the next bytes.
    fn take(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return };
        for line in String::from_utf8_lossy(&self.begun[..end]).lines() {
            self.has_lost |= line.contains("LOST");
            self.said.extend(Said::of(line));
        }
        self.begun.drain(..=end);
    }
}

/// Reads all output until `stop`, and then the rest.
fn read(mut pipe: File, stop: &AtomicBool) -> Heard {
    let (mut heard, mut buffer) = (Heard::default(), vec![0; 1 << 16]);
    loop {
        let stopped = stop.load(Ordering::Relaxed);
        match pipe.read(&mut buffer) {
            Ok(len) if len > 0 => heard.take(&buffer[..len]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            _ if stopped => return heard,
            _ => thread::sleep(PAUSE),
        }
    }
}

/// A line of `trace_pipe`.
#[derive(Debug, PartialEq)]
struct Said {
    ns: u64,
    tuple: Tuple,
    una: u32,
    nxt: u32,
    cwnd: u64,
    ssthresh: u64,
    rwnd: u64,
    srtt_us: u64,
}

impl Said {
    /// `task-pid [cpu] flags seconds: tcp_probe: name=value ...`; `None`: it says something else.
    fn of(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(": tcp_probe: ")?;
        let (seconds, fraction) = before.rsplit(' ').next()?.split_once('.')?;
        let fraction_ns = fraction.parse::<u64>().ok()? * 10_u64.pow(9_u32.checked_sub(fraction.len() as u32)?);
        let value = |name: &str| after.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| value(name)?.parse::<u64>().ok();
        let seq = |name: &str| u32::from_str_radix(value(name)?.strip_prefix("0x")?, 16).ok();
        let address = |name: &str| value(name)?.parse::<SocketAddrV4>().ok();
        let (from, to) = (address("src")?, address("dest")?);
        Some(Said {
            ns: seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction_ns,
            tuple: Tuple {
                from: u32::from(*from.ip()),
                to: u32::from(*to.ip()),
                protocol: TCP,
                from_port: from.port(),
                to_port: to.port(),
            },
            una: seq("snd_una")?,
            nxt: seq("snd_nxt")?,
            cwnd: number("snd_cwnd")?,
            ssthresh: number("ssthresh")?,
            rwnd: number("snd_wnd")?,
            srtt_us: number("srtt")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tracer_is_read() {
        let line = "          <idle>-0       [001] ..s3.  4711.000123: tcp_probe: family=AF_INET src=10.0.0.1:1024 dest=10.0.0.2:5001 mark=0 data_len=0 \
                    snd_nxt=0x10 snd_una=0xfffffff0 snd_cwnd=14 ssthresh=2147483647 snd_wnd=65536 srtt=50123 rcv_wnd=64256 sock_cookie=3 skbaddr=0 skaddr=0";
        let said = Said::of(line).unwrap();
        assert_eq!((said.ns, said.una, said.nxt, said.cwnd, said.srtt_us), (4_711_000_123_000, 0xffff_fff0, 0x10, 14, 50_123));
        assert_eq!((said.tuple.from_port, said.tuple.to_port, said.tuple.to), (1024, 5001, 0x0a00_0002));
        assert_eq!(Said::of("CPU:0 [LOST 12 EVENTS]"), None);
        assert_eq!(Said::of(&line.replace("snd_una=0x", "snd_una=")), None);
    }

    #[test]
    fn lines_may_come_in_pieces() {
        let line = "x-1 [0] . 1.000001: tcp_probe: src=10.0.0.1:1 dest=10.0.0.2:2 snd_nxt=0x2 snd_una=0x1 snd_cwnd=10 ssthresh=5 snd_wnd=6 srtt=7\n";
        let mut heard = Heard::default();
        line.repeat(3).as_bytes().chunks(7).for_each(|piece| heard.take(piece));
        assert_eq!((heard.said.len(), heard.has_lost, heard.begun.len()), (3, false, 0));
        heard.take(b"CPU:0 [LOST 12 EVENTS]\n");
        assert!(heard.has_lost && heard.said.len() == 3);
    }

    #[test]
    fn sequence_numbers_go_on_where_they_wrap() {
        assert_eq!(ahead(0xffff_fff0, 0x10), 0x1_0000_0010);
        assert_eq!(ahead(0x1_0000_0010, 0xffff_fff0), 0xffff_fff0);
        // The SYN is before the first byte.
        assert_eq!(ahead(0, u32::MAX), 0);
    }
}
