//! Columns of records per packet: the events of each packet, and the sender as each ACK finds it.

use std::sync::LazyLock;

use super::{Column, Form, NONE, bits};
use crate::trace::packets as words;
use crate::trace::{AckSample, PacketEvent, PacketKind};
use longfat_core::packet::AccEcnOption;
use longfat_core::time::Time;

table! {
    /// One row an ACK: the sender as it finds it.
    acks: AckSample = vec![
        column!(time "time_s", "when", time),
        column!(index "flow", "which flow, from 0", flow),
        column!(count "acked_bytes", "byte", "payload acknowledged before it", acked),
        column!(count "sent_bytes", "byte", "offset up to which has been sent", sent),
        column!(count "cwnd_bytes", "byte", "congestion window", cwnd),
        Column::new(Form::CountOrNone, "ssthresh_bytes", "byte", "slow start threshold; NaN: no bound yet", |row: &AckSample| row.ssthresh)
            .put(|row, cell| row.ssthresh = cell),
        column!(count "rwnd_bytes", "byte", "the window the peer advertised before it", rwnd),
        column!(number "srtt_s", "s", "smoothed round trip", srtt_s),
    ]
}

table! {
    /// One row for each thing that happened to a packet.
    packets: PacketEvent = {
        let mut columns = vec![
            column!(time "time_s", "when", time),
            Column::new(Form::Word(words::kinds), "event", "1", "what happened", |row: &PacketEvent| {
                PacketKind::all().position(|kind| kind == row.kind).expect("every kind is listed") as u64
            }).put(|row, cell| row.kind = PacketKind::all().nth(cell as usize).expect("a word of the list")),
            column!(index "flow", "of which flow, from 0", flow),
            Column::new(Form::Word(|| &["forward", "back"]), "direction", "1", "from the flow's sender, or to it", |row: &PacketEvent| u64::from(row.is_back))
                .put(|row, cell| row.is_back = cell == 1),
            Column::new(Form::CountOrNone, "link", "1", "at which link, from 0; NaN at the ends", |row: &PacketEvent| row.link.map_or(NONE, u64::from))
                .put(|row, cell| row.link = (cell != NONE).then_some(cell as u32)),
            column!(count "seq_bytes", "byte", "offset of its first byte in the stream; of UDP and ping its number, from 0", seq),
            column!(count or none "ack_bytes", "byte", "the offset that it acknowledges, of the other direction's stream; NaN without an ACK", ack),
            column!(index "len_bytes", "payload", len),
            column!(index "ip_bytes", "the IP packet", ip_len),
            Column::new(Form::Word(words::flag_words), "flags", "1", "TCP's, as tcpdump writes them: S SYN, F FIN, R RST, P PSH, `.` ACK, E ECE, W CWR, e AE", |row: &PacketEvent| u64::from(row.flags & 0x1ff))
                .put(|row, cell| row.flags = cell as u16),
            Column::new(Form::Word(words::ecn_words), "ecn", "1", "ECN field of the IP header", |row: &PacketEvent| row.ecn as u64)
                .put(|row, cell| row.ecn = words::ECNS[cell as usize]),
            Column::new(Form::Count, "window", "1", "window field as on the wire, not scaled", |row: &PacketEvent| u64::from(row.window))
                .put(|row, cell| row.window = cell as u16),
        ];
        let blocks = [("sack1_from_bytes", "sack1_until_bytes"), ("sack2_from_bytes", "sack2_until_bytes"), ("sack3_from_bytes", "sack3_until_bytes"), ("sack4_from_bytes", "sack4_until_bytes")];
        for (i, (from, until)) in blocks.into_iter().enumerate() {
            columns.extend(sack_block(i, from, until));
        }
        columns.extend(packet_options());
        columns
    }
}

/// The two ends of SACK block `i`; shown where any packet has it.
fn sack_block(i: usize, from: &'static str, until: &'static str) -> [Column<PacketEvent>; 2] {
    let end = |end: usize, name, doc| {
        Column::new(Form::CountOrNone, name, "byte", doc, move |row: &PacketEvent| row.sack[i][end].unwrap_or(NONE))
            .put(move |row, cell| row.sack[i][end] = (cell != NONE).then_some(cell))
            .rare()
    };
    [end(0, from, "a SACK block: from here, of the other direction's stream; NaN without it"), end(1, until, "until here")]
}

/// The other options of a packet; each shown where any packet has it.
fn packet_options() -> Vec<Column<PacketEvent>> {
    type Get = fn(&PacketEvent) -> Option<u64>;
    let option = |name, unit, doc, get: Get| Column::new(Form::CountOrNone, name, unit, doc, move |row| get(row).unwrap_or(NONE)).rare();
    let mut columns = vec![
        option("ts_val", "1", "TSval of the timestamps option; NaN without it", |row| row.timestamps.map(|(val, _)| val.into()))
            .put(|row, cell| row.timestamps = (cell != NONE).then_some((cell as u32, 0))),
        // (Stands behind TSval, which makes the option.)
        option("ts_ecr", "1", "TSecr of the timestamps option", |row| row.timestamps.map(|(_, ecr)| ecr.into()))
            .put(|row, cell| row.timestamps = row.timestamps.map(|(val, _)| (val, cell as u32))),
        option("mss_bytes", "byte", "the MSS option of a SYN; NaN without it", |row| row.mss.map(Into::into))
            .put(|row, cell| row.mss = (cell != NONE).then_some(cell as u16)),
        option("window_scale", "1", "the window scale option of a SYN; NaN without it", |row| row.window_scale.map(Into::into))
            .put(|row, cell| row.window_scale = (cell != NONE).then_some(cell as u8)),
        option("sack_permitted", "1", "1: a SYN with the SACK-permitted option; NaN without it", |row| row.sack_permitted.then_some(1))
            .put(|row, cell| row.sack_permitted = cell == 1),
        option("accecn_order", "1", "the order of an AccECN option's counters, 0 or 1; NaN without it", |row| {
            row.accecn.map(|option| option.order.into())
        })
        .put(|row, cell| row.accecn = (cell != NONE).then_some(AccEcnOption { order: cell as u8, fields: 0, values: [0; 3] })),
    ];
    let counters = [
        ("accecn_ect0_bytes", "its counter of payload that came as ECT(0), modulo 2^24; NaN without it"),
        ("accecn_ce_bytes", "as CE"),
        ("accecn_ect1_bytes", "as ECT(1)"),
    ];
    for (i, (name, doc)) in counters.into_iter().enumerate() {
        let place = move |option: &AccEcnOption| words::ACCECN_FIELDS[usize::from(option.order != 0)][i];
        let get = move |row: &PacketEvent| {
            let option = row.accecn.filter(|option| place(option) < usize::from(option.fields));
            option.map_or(NONE, |option| option.values[place(&option)].into())
        };
        let put = move |row: &mut PacketEvent, cell| {
            if let Some(option) = row.accecn.as_mut().filter(|_| cell != NONE) {
                let at = place(option);
                option.values[at] = cell as u32;
                option.fields = option.fields.max(at as u8 + 1);
            }
        };
        columns.push(Column::new(Form::CountOrNone, name, "byte", doc, get).put(put).rare());
    }
    columns
}
