//! The names an assertion can use: `tcpi_*` as tcp(7) and ss(8) have them, and the constants.

use crate::code::Value;
use crate::host::Host;
use longfat_core::time::{Duration, Time};
use longfat_tcp::{CaState, State};

/// Threshold that Linux shows for "no threshold yet".
const INFINITE_SSTHRESH: i128 = 0x7fff_ffff;

const CONSTANTS: &[(&str, i128)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCP_INFINITE_SSTHRESH", INFINITE_SSTHRESH),
];

/// Returns the value of `name`. `None`: the name is unknown. `Err`: it is known, but the endpoint does not keep that number.
///
/// Counts of segments are bytes divided by the mss, rounded up where Linux counts segments and down for windows.
pub(crate) fn lookup(name: &str, host: &Host, now: Time) -> Option<Result<Value, String>> {
    if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
        return Some(Ok(Value::Int(*value)));
    }
    let field = name.strip_prefix("tcpi_")?;
    let Some(connection) = host.connection() else { return Some(Err(format!("{name} before there is a connection"))) };
    let counters = host.counters();
    let (info, stats) = (connection.info(), connection.stats());
    let segments = |bytes: u64| i128::from(bytes.div_ceil(info.mss.max(1)));
    let windows = |bytes: u64| i128::from(bytes / info.mss.max(1));
    let micros = |span: Duration| i128::from(span.as_ps() / 1_000_000);
    let (unacked, unsent) = connection.unacked();
    let none = |why: &str| Some(Err(format!("{name}: {why}")));
    let since = |at: Option<Time>| at.map(|at| i128::from(now.since(at).as_ps() / 1_000_000_000));
    let acked = i128::from(stats.bytes_sent.saturating_sub(stats.bytes_retransmitted) + unsent).saturating_sub(i128::from(unacked));
    Some(Ok(Value::Int(match field {
        "state" => state(connection.state()),
        "ca_state" => ca_state(info.ca_state),
        "backoff" => i128::from(info.backoff),
        "options" => {
            let bits = [(info.timestamps, 1), (info.sack, 2), (info.window_scale, 4), (info.ecn, 8)];
            bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
        }
        "rto" => micros(info.rto),
        "rtt" => micros(info.srtt),
        "rttvar" => micros(info.rttvar),
        "min_rtt" => match connection.min_rtt() {
            Some(rtt) => micros(rtt),
            None => return none("no round trip has been measured"),
        },
        "snd_mss" => i128::from(info.mss),
        "snd_cwnd" => windows(info.cwnd),
        "snd_ssthresh" if info.ssthresh == u64::MAX => INFINITE_SSTHRESH,
        "snd_ssthresh" => windows(info.ssthresh),
        // A receiver measures only for a window that follows the path.
        "rcv_rtt" | "rcv_space" if info.rcv_rtt.is_zero() => {
            return none("the receiver measures nothing (`--set tcp.window_sizing=linux` makes it)");
        }
        "rcv_rtt" => micros(info.rcv_rtt),
        "rcv_space" => i128::from(info.rcv_space),
        "rcv_wnd" => i128::from(info.memory.promised),
        "rcv_mss" if connection.largest_received() == 0 => return none("no data has arrived"),
        "rcv_mss" => i128::from(connection.largest_received()),
        "snd_wnd" => i128::from(info.rwnd),
        "unacked" => segments(info.outstanding),
        "sacked" => i128::from(info.sacked),
        "lost" => i128::from(info.lost),
        "retrans" => i128::from(info.retrans),
        "reordering" => i128::from(info.reordering),
        "notsent_bytes" => i128::from(unsent),
        "total_retrans" => i128::from(stats.segments_retransmitted + stats.fins_retransmitted),
        "bytes_sent" => i128::from(stats.bytes_sent),
        "bytes_retrans" => i128::from(stats.bytes_retransmitted),
        "bytes_acked" => acked,
        "delivered" => (acked + i128::from(info.mss.max(1)) - 1) / i128::from(info.mss.max(1)) + i128::from(info.sacked),
        "bytes_received" => i128::from(connection.bytes_delivered()),
        "data_segs_out" => i128::from(stats.segments_sent),
        "data_segs_in" => i128::from(counters.data_segs_in),
        "segs_in" => i128::from(counters.segs_in),
        "segs_out" => i128::from(counters.segs_out),
        "retransmits" => i128::from(if connection.is_established() { counters.retransmits } else { info.backoff.into() }),
        "busy_time" => micros(counters.busy(now)),
        "delivered_ce" => match connection.marked_packets() {
            Some(marked) => i128::from(marked),
            None => return none("only accurate ECN counts marks"),
        },
        "delivery_rate" => match connection.delivery_rate() {
            Some(rate) => rate as i128,
            None => return none("no rate has been measured; of the controls, those that model the path have it measured, such as bbr"),
        },
        "pacing_rate" => match connection.pacing_rate() {
            Some(rate) => i128::from(rate.as_bps() / 8),
            None => return none("nothing is paced (`--set tcp.pacing=on`, or SO_MAX_PACING_RATE)"),
        },
        "last_data_sent" | "last_data_recv" | "last_ack_recv" => {
            let at = match field {
                "last_data_sent" => counters.last_data_sent,
                "last_data_recv" => counters.last_data_recv,
                _ => counters.last_ack_recv,
            };
            match since(at) {
                Some(ms) => ms,
                None => return none("there was none yet"),
            }
        }
        _ => return Some(Err(format!("{name}: the endpoint does not keep that number"))),
    })))
}

fn ca_state(state: CaState) -> i128 {
    match state {
        CaState::Open => 0,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => 3,
        CaState::Loss => 4,
    }
}

fn state(state: State) -> i128 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}
