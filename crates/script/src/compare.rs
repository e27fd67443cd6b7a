//! Expected and got: whether a segment is what the script says, and both as a script would write them.

use crate::syntax::{EcnField, Options, Packet};
use longfat_core::packet::{AccEcnOption, Ecn, Segment, flags};
use std::fmt::Write;

/// A segment that was sent, in the script's numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub segment: Segment,
    /// Bytes of payload: several segments in a row may stand for one packet of the script.
    pub len: u64,
    pub ecn: Ecn,
    /// The differentiated services field.
    pub dscp: u8,
}

/// Returns the fields in which they differ. Timestamps are compared elsewhere, since TSval follows a clock.
pub(crate) fn differences(expected: &Packet, got: &Sent, any_push: bool) -> Vec<&'static str> {
    let open = if any_push { flags::PSH } else { 0 };
    let (want, have) = (&expected.segment, &got.segment);
    let ecn = match expected.ecn {
        EcnField::Unsaid => true,
        EcnField::Is(ecn) => ecn == got.ecn,
        EcnField::EitherEct => matches!(got.ecn, Ecn::Ect0 | Ecn::Ect1),
    };
    let mut all = vec![
        (ecn, "the ECN field"),
        (expected.dscp.is_none_or(|dscp| dscp == got.dscp), "differentiated services"),
        (want.flags | open == have.flags | open, "flags"),
        (want.seq == have.seq, "sequence number"),
        (expected.len == got.len, "length"),
        (expected.ack.is_none_or(|ack| ack == have.ack), "acknowledgment number"),
        (expected.window.is_none_or(|window| window == have.window), "window"),
    ];
    if let Options::Listed { any_ts_ecr, .. } = expected.options {
        let blocks = |s: &Segment| (0..s.sack_count()).map(|i| s.sack(i)).collect::<Vec<_>>();
        let echo = |s: &Segment| s.timestamps().map(|(_, ecr)| if any_ts_ecr { 0 } else { ecr });
        all.extend([
            (want.mss() == have.mss(), "mss"),
            (want.window_scale() == have.window_scale(), "wscale"),
            (want.sack_permitted() == have.sack_permitted(), "sackOK"),
            (blocks(want) == blocks(have), "sack"),
            (echo(want) == echo(have), "TS"),
            (want.accecn() == have.accecn(), "ECN"),
            (want.fast_open() == have.fast_open(), "FO"),
        ]);
    }
    all.into_iter().filter(|(same, _)| !same).map(|(_, what)| what).collect()
}

/// `P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 100 ecr 200>`.
pub(crate) fn show(sent: &Sent) -> String {
    let Sent { segment, len, ecn, dscp } = sent;
    let mut text = match ecn {
        _ if *dscp > 0 => format!("[tos {:#x}] ", dscp << 2 | *ecn as u8),
        Ecn::NotEct => String::new(),
        Ecn::Ect0 => "[ect0] ".to_owned(),
        Ecn::Ect1 => "[ect1] ".to_owned(),
        Ecn::Ce => "[ce] ".to_owned(),
    };
    text += &head(segment, *len);
    if segment.has(flags::ACK) {
        let _ = write!(text, " ack {}", segment.ack);
    }
    let _ = write!(text, " win {}", segment.window);
    text + &options(segment, false, false)
}

/// Writes the packet as the script has it, in one line.
pub(crate) fn show_expected(packet: &Packet) -> String {
    let mut text = match packet.ecn {
        EcnField::Is(ecn) if packet.dscp.is_some_and(|dscp| dscp > 0) => {
            format!("[tos {:#x}] ", packet.dscp.unwrap_or(0) << 2 | ecn as u8)
        }
        EcnField::Unsaid => String::new(),
        EcnField::EitherEct => "[ect01] ".to_owned(),
        EcnField::Is(Ecn::NotEct) => "[noecn] ".to_owned(),
        EcnField::Is(Ecn::Ect0) => "[ect0] ".to_owned(),
        EcnField::Is(Ecn::Ect1) => "[ect1] ".to_owned(),
        EcnField::Is(Ecn::Ce) => "[ce] ".to_owned(),
    };
    text += &head(&packet.segment, packet.len);
    if let Some(ack) = packet.ack {
        let _ = write!(text, " ack {ack}");
    }
    if let Some(window) = packet.window {
        let _ = write!(text, " win {window}");
    }
    match packet.options {
        Options::Any => text + " <...>",
        Options::Listed { any_ts_val, any_ts_ecr } => text + &options(&packet.segment, any_ts_val, any_ts_ecr),
    }
}

fn head(segment: &Segment, len: u64) -> String {
    let letters = [
        (flags::SYN, 'S'),
        (flags::FIN, 'F'),
        (flags::RST, 'R'),
        (flags::PSH, 'P'),
        (flags::ECE, 'E'),
        (flags::CWR, 'W'),
        (flags::AE, 'A'),
        (flags::ACK, '.'),
    ];
    let mut flags: String = letters.iter().filter(|(bit, _)| segment.has(*bit)).map(|(_, letter)| *letter).collect();
    if flags.is_empty() {
        flags.push('-');
    }
    format!("{flags} {}:{}({len})", segment.seq, segment.seq.wrapping_add(len as u32))
}

fn options(segment: &Segment, any_ts_val: bool, any_ts_ecr: bool) -> String {
    let mut all = Vec::new();
    if let Some(mss) = segment.mss() {
        all.push(format!("mss {mss}"));
    }
    if segment.sack_permitted() {
        all.push("sackOK".to_owned());
    }
    if let Some((val, ecr)) = segment.timestamps() {
        let number = |any: bool, n: u32| if any { "...".to_owned() } else { n.to_string() };
        all.push(format!("TS val {} ecr {}", number(any_ts_val, val), number(any_ts_ecr, ecr)));
    }
    if let Some(shift) = segment.window_scale() {
        all.push(format!("wscale {shift}"));
    }
    if let Some(cookie) = segment.fast_open() {
        let (bytes, len) = cookie.bytes();
        let digits = bytes[..len].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        all.push(format!("FO {digits}").trim_end().to_owned());
    }
    if segment.sack_count() > 0 {
        let blocks: Vec<String> = (0..segment.sack_count()).map(|i| format!("{}:{}", segment.sack(i).0, segment.sack(i).1)).collect();
        all.push(format!("sack {}", blocks.join(" ")));
    }
    if let Some(AccEcnOption { order, fields, values }) = segment.accecn() {
        let names = [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]][usize::from(order)];
        let counters = names.iter().zip(values).take(fields.into()).map(|(name, value)| format!(" {name} {value}"));
        all.push(format!("ECN{}", counters.collect::<String>()));
    }
    if all.is_empty() { String::new() } else { format!(" <{}>", all.join(",")) }
}
