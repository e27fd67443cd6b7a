//! One capture file: pcap or pcapng, plain or compressed.

use super::frame::{self, Packet, Skip};
use crate::error::Error;
use flate2::read::MultiGzDecoder;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Buffer through which a file is read, and its limit for a large block: Wireshark writes no packet beyond 256 KiB.
const BUFFER: usize = 1 << 18;
const BUFFER_MAX: usize = 1 << 24;
/// Interfaces that are kept; a file that describes more is not a capture.
const INTERFACES: usize = 1 << 16;
const NANO: i128 = 1_000_000_000;

/// Frames of a file, by how they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All frames.
    pub frames: u64,
    /// TCP segments.
    pub tcp: u64,
    /// Frames of another link type.
    pub link_type: u64,
    /// Frames without IP.
    pub not_ip: u64,
    /// Frames with IP, without TCP.
    pub not_tcp: u64,
    /// Frames with fragments.
    pub fragments: u64,
    /// Frames cut before the end of their TCP header.
    pub cut: u64,
    /// Frames that contradict themselves.
    pub malformed: u64,
    /// Frames with an earlier capture time than the frame before them.
    pub backwards: u64,
}

/// An interface of a pcapng file, or all of a pcap file.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    /// Ticks of the clock per second.
    resolution: u64,
    /// Seconds that are added to its times.
    offset: i64,
}

/// A file that is being read.
pub struct Input {
    /// Name as given.
    pub name: String,
    /// Frames so far.
    pub counts: Counts,
    /// Defects of the file, each once.
    pub notes: Vec<String>,
    reader: Box<dyn PcapReaderIterator + Send>,
    interfaces: Vec<Interface>,
    /// Bytes of the file that were read so far, before they are unpacked.
    position: Arc<AtomicU64>,
    failure: Arc<Mutex<Option<String>>>,
    last_time: i64,
    other_link: Option<i32>,
    is_over: bool,
}

/// Reader that counts the bytes it reads, and reads as much as it is asked for.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Reads until the buffer is full or the file ends: a short read is no end. What cannot be unpacked any further ends it too; then `failure`
/// says why.
struct Whole<R> {
    inner: R,
    failure: Arc<Mutex<Option<String>>>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut at = 0;
        while at < into.len() {
            match self.inner.read(&mut into[at..]) {
                Ok(0) => break,
                Ok(n) => at += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.failure.lock().expect("nobody panics with it").get_or_insert_with(|| e.to_string());
                    break;
                }
            }
        }
        Ok(at)
    }
}

impl Input {
    /// Begins to read a capture. An error if it is none.
    pub fn new(name: &str, file: impl Read + Send + 'static) -> Result<Input, Error> {
        let wrong = |what: String| Error::File { name: name.to_owned(), what };
        let position = Arc::new(AtomicU64::new(0));
        let mut raw = Counted { inner: file, count: position.clone() };
        let packed = head(&mut raw).map_err(|e| wrong(e.to_string()))?;
        let is_gzip = packed.starts_with(&[0x1f, 0x8b]);
        let is_zstd = packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let whole = Cursor::new(packed).chain(raw);
        let unpacked: Box<dyn Read + Send> = if is_gzip {
            Box::new(MultiGzDecoder::new(whole))
        } else if is_zstd {
            Box::new(zstd::Decoder::new(whole).map_err(|e| wrong(e.to_string()))?)
        } else {
            Box::new(whole)
        };
        let mut unpacked = unpacked;
        let begin = head(&mut unpacked).map_err(|e| wrong(format!("cannot be unpacked: {e}")))?;
        if begin.is_empty() {
            return Err(wrong("the file is empty".to_owned()));
        }
        if !is_capture(&begin) {
            let hex: Vec<String> = begin.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            return Err(wrong(format!(
                "no capture: it begins with {}, and neither pcap nor pcapng (nor gzip or zstd of them) does",
                hex.join(" ")
            )));
        }
        let failure = Arc::new(Mutex::new(None));
        let unpacked = Whole { inner: Cursor::new(begin).chain(unpacked), failure: failure.clone() };
        let reader = create_reader(BUFFER, unpacked)
            .map_err(|_| wrong("a capture whose header is cut short or corrupt: there is nothing to read".to_owned()))?;
        Ok(Input {
            name: name.to_owned(),
            counts: Counts::default(),
            notes: Vec::new(),
            reader,
            interfaces: Vec::new(),
            position,
            failure,
            last_time: i64::MIN,
            other_link: None,
            is_over: false,
        })
    }

    /// Bytes of the file that were read so far.
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// The next TCP segment; none at the end, or where nothing more can be read. Then `notes` say why.
    pub fn next_packet(&mut self) -> Option<Packet> {
        while !self.is_over {
            let (size, frame) = match self.reader.next() {
                Ok((size, block)) => (size, taken(&mut self.interfaces, &block)),
                Err(PcapError::Incomplete(_)) => {
                    if self.reader.refill().is_err() {
                        self.end("an error while reading".to_owned());
                    }
                    continue;
                }
                Err(PcapError::BufferTooSmall) => {
                    self.grow();
                    continue;
                }
                Err(PcapError::Eof) => {
                    self.is_over = true;
                    break;
                }
                Err(PcapError::UnexpectedEof) => {
                    self.end("cut short".to_owned());
                    break;
                }
                Err(_) => {
                    self.end("corrupt".to_owned());
                    break;
                }
            };
            // A block of no length would be read for ever.
            if size == 0 {
                self.end("corrupt".to_owned());
                break;
            }
            self.reader.consume(size);
            match frame {
                Taken::Nothing => {}
                Taken::Wrong(what) => {
                    self.note(what.to_owned());
                }
                Taken::Frame(time, result) => {
                    if let Some(packet) = self.count(time, result) {
                        return Some(packet);
                    }
                }
            }
        }
        None
    }

    fn count(&mut self, time: i64, result: Result<Packet, Skip>) -> Option<Packet> {
        let counts = &mut self.counts;
        counts.frames += 1;
        counts.backwards += u64::from(time < self.last_time);
        self.last_time = time;
        match result {
            Ok(packet) => {
                counts.tcp += 1;
                return Some(packet);
            }
            Err(Skip::LinkType(number)) => {
                counts.link_type += 1;
                self.other_link = Some(number);
            }
            Err(Skip::NotIp) => counts.not_ip += 1,
            Err(Skip::NotTcp) => counts.not_tcp += 1,
            Err(Skip::Fragment) => counts.fragments += 1,
            Err(Skip::Cut) => counts.cut += 1,
            Err(Skip::Malformed) => counts.malformed += 1,
        }
        None
    }

    fn grow(&mut self) {
        let size = (self.reader.data().len() * 2).clamp(BUFFER * 2, BUFFER_MAX);
        if self.reader.data().len() >= BUFFER_MAX / 2 || !self.reader.grow(size) || self.reader.refill().is_err() {
            self.end(format!("corrupt, a block of more than {} MiB", BUFFER_MAX >> 21));
        }
    }

    fn end(&mut self, what: String) {
        self.is_over = true;
        let at = self.reader.consumed();
        self.note(format!("{what} after {} frames, {at} bytes into the capture; what stands before that is used", self.counts.frames));
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the remarks on the file at its end.
    pub fn remarks(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let Some(why) = &*self.failure.lock().expect("nobody panics with it") {
            notes.push(format!("cannot be unpacked to its end: {why}"));
        }
        let counts = &self.counts;
        if let Some(number) = self.other_link {
            notes.push(format!("{} frames are of link type {number}, which longfat does not read", counts.link_type));
        }
        let mut say = |n: u64, what: &str| {
            if n > 0 {
                notes.push(format!("{n} {what}"));
            }
        };
        say(counts.cut, "frames are cut before the end of their TCP header: capture at least 96 bytes of each (tcpdump -s 96)");
        say(counts.malformed, "frames contradict themselves");
        say(counts.fragments, "fragments are left out");
        say(counts.backwards, "frames were captured before the one that stands before them");
        notes
    }
}

/// Reads the first bytes of a file, enough to tell its format.
fn head(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The magic numbers of pcap (microseconds, nanoseconds, Kuznetzov's) in either order, and of pcapng.
fn is_capture(begin: &[u8]) -> bool {
    const PCAP: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
    let Ok(four) = <[u8; 4]>::try_from(begin) else { return false };
    [u32::from_be_bytes(four), u32::from_le_bytes(four)].iter().any(|magic| PCAP.contains(magic)) || four == [0x0a, 0x0d, 0x0d, 0x0a]
}

/// Content of a block, as far as this reader uses it.
enum Taken {
    Nothing,
    Wrong(&'static str),
    Frame(i64, Result<Packet, Skip>),
}

fn taken(interfaces: &mut Vec<Interface>, block: &PcapBlockOwned<'_>) -> Taken {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            // The upper half says how long the frame's checksum is.
            let link = Linktype(header.network.0 & 0xffff);
            *interfaces = vec![Interface { link, resolution, offset: i64::from(header.thiszone) }];
            if (header.version_major, header.version_minor) < (2, 3) {
                return Taken::Wrong(
                    "it is older than version 2.3 of pcap, which swaps the two lengths of a frame: let tshark write it anew",
                );
            }
            Taken::Nothing
        }
        PcapBlockOwned::Legacy(frame) => match interfaces.first() {
            Some(interface) => {
                let time = interface.time(u64::from(frame.ts_sec) * interface.resolution + u64::from(frame.ts_usec));
                Taken::Frame(time, frame::parse(interface.link, time, frame.data, frame.origlen))
            }
            None => Taken::Nothing,
        },
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            Taken::Nothing
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            if interfaces.len() == INTERFACES {
                return Taken::Wrong("more interfaces than a capture has: those beyond 65536 are left out");
            }
            interfaces.push(Interface { link: block.linktype, resolution: resolution(block.if_tsresol), offset: block.if_tsoffset });
            Taken::Nothing
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
            let Some(interface) = interfaces.get(block.if_id as usize) else {
                return Taken::Wrong("there are packets of interfaces that are not described; they are left out");
            };
            let time = interface.time(u64::from(block.ts_high) << 32 | u64::from(block.ts_low));
            Taken::Frame(time, frame::parse(interface.link, time, block.packet_data(), block.origlen))
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            Taken::Wrong("there are packets without a time (simple packet blocks); they are left out")
        }
        PcapBlockOwned::NG(_) => Taken::Nothing,
    }
}

/// Returns the ticks per second of the option if_tsresol (pcapng, section 4.2): a power of ten, or, with the highest bit, of two. A value
/// that no clock has is taken for nanoseconds.
fn resolution(said: u8) -> u64 {
    let power = u32::from(said & 0x7f);
    let ticks = if said & 0x80 == 0 { 10_u64.checked_pow(power) } else { 2_u64.checked_pow(power) };
    ticks.unwrap_or(1_000_000_000)
}

impl Interface {
    /// Nanoseconds since 1970, within what can be added and subtracted without a thought: 146 years on either side.
    fn time(&self, ticks: u64) -> i64 {
        let nanoseconds = match self.resolution {
            // (Division of 128 bits is slow, and these are nearly all clocks.)
            1_000_000_000 => i128::from(ticks),
            1_000_000 => i128::from(ticks) * 1000,
            resolution => i128::from(ticks) * NANO / i128::from(resolution),
        };
        (nanoseconds + i128::from(self.offset) * NANO).clamp(i128::from(i64::MIN / 2), i128::from(i64::MAX / 2)) as i64
    }
}
