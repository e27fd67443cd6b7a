//! Out: what a host or a link of a run would have captured, as pcapng.

mod headers;
mod place;
#[cfg(test)]
mod tests;

pub use place::Place;

use crate::error::Error;
use headers::Headers;
use longfat_model::Experiment;
use longfat_record::trace::Trace;
use pcap_parser::{EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption, SectionHeaderBlock, ToVec};
use std::borrow::Cow;
use std::io::{self, Write};

/// Most bytes of a comment that are written: the length of an option is 16 bits, and it is padded.
const COMMENT_MAX: usize = 65_000;

/// Time of the start of a run: 2000-01-01 0:00 UTC, in nanoseconds. (Some programs take 0 for no time.)
const EPOCH: u64 = 946_684_800 * 1_000_000_000;

/// Writes the packets that passed at `place` to `out`; returns their number.
///
/// Packets are raw IPv4. Their times are whole nanoseconds from the start of the run, which is at 2000-01-01. The first `snap` bytes of
/// each packet are there; payload is zeros, and checksums count all of it. `comment` goes into the header of the section.
pub fn write(out: &mut dyn Write, experiment: &Experiment, trace: &Trace, place: &Place, comment: &str, snap: u32) -> Result<u64, Error> {
    let interfaces = place.interfaces(experiment);
    section(out, comment)?;
    for name in &interfaces {
        interface(out, name, snap)?;
    }
    let (mut headers, mut bytes, mut count) = (Headers::new(experiment), Vec::new(), 0);
    for row in &trace.packets {
        let Some(interface) = place.interface_of(experiment, row) else { continue };
        headers.write(row, &mut bytes)?;
        let length = bytes.len() as u32;
        let captured = length.min(snap);
        let data = &bytes[..captured as usize];
        packet(out, interface, EPOCH + row.time.as_ps() / 1000, data, length)?;
        count += 1;
    }
    Ok(count)
}

fn section(out: &mut dyn Write, comment: &str) -> io::Result<()> {
    let mut end = comment.len().min(COMMENT_MAX);
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    let options =
        vec![text(OptionCode::Comment, &comment[..end]), text(OptionCode::ShbUserAppl, concat!("longfat ", env!("CARGO_PKG_VERSION")))];
    let block = SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options,
        block_len2: 0,
    };
    put(out, block)
}

fn interface(out: &mut dyn Write, name: &str, snap: u32) -> io::Result<()> {
    let block = InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: Linktype::RAW,
        reserved: 0,
        snaplen: snap,
        options: vec![text(OptionCode::IfName, name)],
        block_len2: 0,
        // 10^-9 s (pcapng, section 4.2).
        if_tsresol: 9,
        if_tsoffset: 0,
    };
    put(out, block)
}

fn packet(out: &mut dyn Write, interface: u32, nanoseconds: u64, data: &[u8], length: u32) -> io::Result<()> {
    let block = EnhancedPacketBlock {
        block_type: 0,
        block_len1: 0,
        if_id: interface,
        ts_high: (nanoseconds >> 32) as u32,
        ts_low: nanoseconds as u32,
        caplen: data.len() as u32,
        origlen: length,
        data,
        options: Vec::new(),
        block_len2: 0,
    };
    put(out, block)
}

/// An option whose value is text, padded to words of 32 bits.
fn text(code: OptionCode, value: &str) -> PcapNGOption<'static> {
    let mut bytes = value.as_bytes().to_vec();
    bytes.resize(value.len().next_multiple_of(4), 0);
    PcapNGOption { code, len: value.len() as u16, value: Cow::Owned(bytes) }
}

fn put(out: &mut dyn Write, mut block: impl ToVec) -> io::Result<()> {
    out.write_all(&block.to_vec().map_err(io::Error::other)?)
}

#[cfg(test)]
pub(crate) mod testing {
    /// The beginning of a file with one interface.
    pub(crate) fn section(comment: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        super::section(&mut bytes, comment).unwrap();
        super::interface(&mut bytes, "a", 65535).unwrap();
        bytes
    }
    /// A packet.
    pub(crate) fn frame(nanoseconds: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        super::packet(&mut bytes, 0, nanoseconds, data, data.len() as u32).unwrap();
        bytes
    }
}
