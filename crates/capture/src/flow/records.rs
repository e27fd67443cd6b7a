//! Records: findings about a capture, each connection in it and each part of a connection. A name ends with its unit, as in results.

use serde::Serialize;
use std::collections::BTreeMap;

/// Passes every record of a connection or a file to the macro `$with`. The fields stand here once, for Rust and for Python.
#[macro_export]
macro_rules! records {
    ($with:ident) => {
        $with! {
            /// A file of a capture.
            CaptureFile {
                /// Path as given.
                name: String,
                /// Frames in it.
                frames: u64,
                /// Frames that hold TCP.
                tcp: u64,
                /// Frames that hold something else.
                not_tcp: u64,
                /// Frames that were cut, malformed, fragments, or of an unknown link type.
                unreadable: u64,
                /// Defects of the file, as sentences.
                notes: Vec<String>,
            }

            /// A TCP connection. The direction with more data is described; its data go from `source` to `destination`.
            Connection {
                /// From 0, in the order of first packets.
                number: u64,
                /// Address and port of the end that sent the data.
                #[serde(rename = "from")]
                source: String,
                /// Address and port of the other end.
                #[serde(rename = "to")]
                destination: String,
                /// `sender` or `receiver` of the data.
                opened_by: &'static str,
                /// First packet, from the first one of the capture.
                start_s: f64,
                /// Time from its first packet to its last.
                duration_s: f64,
                /// Packets, copies left out.
                packets: u64,
                /// Delays of copies behind their originals; None without copies.
                copies: Option<RoundTrips>,
                /// `both ways`, `data only`, `acks only` or `no data`.
                captured: &'static str,
                /// `sender`, `receiver`, `between` or `unknown`.
                capture_point: &'static str,
                /// True if both SYNs were captured.
                handshake: bool,
                /// `closed`, `half closed`, `reset` or `open`.
                ended: &'static str,
                /// Retransmissions of SYNs, both directions.
                syns_retransmitted: u64,
                /// Retransmissions of FINs, both directions.
                fins_retransmitted: u64,
                /// Options that both ends agreed on.
                options: Options,
                /// Data of the direction with more of it.
                data: Data,
                /// Data of the other direction.
                back: Back,
                /// Round trips of the whole path; None where they are unknown.
                rtt: Option<RoundTrips>,
                /// Round trips between sender and point of capture.
                rtt_near: Option<RoundTrips>,
                /// Round trips between point of capture and receiver.
                rtt_far: Option<RoundTrips>,
                /// Bottleneck of the path; None where nothing shows it.
                bottleneck: Option<Bottleneck>,
                /// The receiver's window.
                receiver: ReceiverWindow,
                /// The connection over time.
                series: ConnectionSeries,
                /// Features by name (`longfat._longfat.trace_features`); None where one is unknown.
                features: BTreeMap<&'static str, Option<f64>>,
                /// Cause that limited the connection.
                verdict: Verdict,
                /// Estimated congestion control of the sender.
                control: ControlEstimate,
                /// Defects of the capture of this connection, as sentences.
                notes: Vec<String>,
            }

            /// Options of a connection.
            Options {
                /// Payload of a full segment.
                mss_bytes: u32,
                /// True if both SYNs said it; otherwise it is the most frequent length.
                mss_is_agreed: bool,
                /// Shift of the receiver's window field; None where the SYNs are missing.
                window_scale: Option<u8>,
                /// SACK was agreed on.
                sack: bool,
                /// Timestamps were agreed on.
                timestamps: bool,
            }

            /// Data of one direction.
            Data {
                /// Segments with payload, retransmissions included.
                segments: u64,
                /// Payload sent, retransmissions included.
                bytes: u64,
                /// Payload acknowledged; where no ACK was captured, payload sent.
                bytes_acked: u64,
                /// Payload per time, in bit/s; None where the time is too short.
                goodput_bps: Option<f64>,
                /// Most payload in flight, as the sender saw it.
                flight_max_bytes: u64,
                /// Payload of the longest segment.
                longest_bytes: u32,
                /// Segments longer than the mss.
                offload: u64,
                /// Retransmissions.
                retransmitted: Retransmitted,
                /// Episodes of retransmissions, a round trip each.
                episodes: u64,
                /// Episodes that began with a timeout.
                timeouts: usize,
                /// Segments out of order that were not lost.
                reordered: Reordered,
                /// Payload acknowledged that the capture lacks.
                never_captured_bytes: u64,
                /// Packets with CE.
                ce_packets: u64,
                /// Acknowledgments with ECE.
                ece_acks: u64,
                /// Segments with CWR.
                cwr_segments: u64,
                /// Duplicate acknowledgments (RFC 5681).
                duplicate_acks: u64,
                /// Window probes (RFC 9293).
                window_probes: u64,
            }

            /// Retransmissions of one direction, by cause.
            Retransmitted {
                /// All of them.
                segments: u64,
                /// Their payload.
                bytes: u64,
                /// Retransmissions after duplicate acknowledgments or SACK.
                fast: u64,
                /// Retransmissions by the retransmission timer.
                timeout: u64,
                /// Tail loss probes (RFC 8985).
                tail_probe: u64,
                /// Retransmissions without a known cause.
                unknown: u64,
                /// Spurious retransmissions: the data had arrived before.
                needless: u64,
                /// Retransmissions whose original was lost before the point of capture.
                lost_before_capture: u64,
            }

            /// Segments out of order that were not lost.
            Reordered {
                /// Overtaken before the point of capture.
                before_capture: u64,
                /// Overtaken behind the point of capture.
                behind_capture: u64,
            }

            /// Data of the direction with less of it.
            Back {
                /// Payload sent, retransmissions included.
                bytes: u64,
                /// Segments with payload.
                segments: u64,
                /// Retransmissions.
                retransmitted: u64,
            }

            /// Times of one part of a path. What the clock of the capture cannot tell is None.
            RoundTrips {
                /// Measurements.
                samples: u64,
                /// The least one.
                min_s: Option<f64>,
                /// Their mean.
                mean_s: Option<f64>,
                /// The greatest one.
                max_s: f64,
            }

            /// Bottleneck of the path. Rates are of IP packets, in bit/s.
            Bottleneck {
                /// Estimated rate.
                rate_bps: f64,
                /// Lower end of the middle two thirds.
                rate_low_bps: f64,
                /// Upper end of the middle two thirds; None where the rate is a lower bound.
                rate_high_bps: Option<f64>,
                /// True if the path was never full.
                is_lower_bound: bool,
                /// `acks` or `segments`.
                rate_by: &'static str,
                /// Trains that the rate is estimated from.
                trains: u64,
                /// Bytes queued at losses; None where no loss shows them.
                queue_at_losses_bytes: Option<QueueAtLosses>,
                /// Bursts in front of the bottleneck; None where none was seen.
                burst: Option<Burst>,
            }

            /// Bytes queued at the bottleneck when it dropped a packet.
            QueueAtLosses {
                /// Median over losses.
                median: f64,
                /// 16 % quantile.
                low: f64,
                /// 84 % quantile.
                high: f64,
                /// Losses counted.
                losses: usize,
            }

            /// Payload by which the sender ran ahead of the bottleneck.
            Burst {
                /// Most that passed without a loss.
                passed_bytes: u64,
                /// At the first loss; None without one.
                at_first_loss_bytes: Option<u64>,
            }

            /// The receiver's window.
            ReceiverWindow {
                /// Least window.
                window_min_bytes: Option<u64>,
                /// Greatest window.
                window_max_bytes: Option<u64>,
                /// True if the window scale is known.
                window_is_scaled: bool,
                /// Times that the window closed.
                zero_windows: u64,
                /// Time with a closed window.
                zero_window_s: f64,
            }

            /// A connection over time, in bins of one width; bins in which nothing happened are left out.
            ConnectionSeries {
                /// Width of a bin.
                width_s: f64,
                /// Begin of each bin, from the connection's first packet.
                time_s: Vec<f64>,
                /// Payload sent.
                sent_bytes: Vec<u64>,
                /// Payload acknowledged.
                acked_bytes: Vec<u64>,
                /// Most payload in flight; None where nothing new was sent.
                flight_max_bytes: Vec<Option<u64>>,
                /// Least window; None where nothing new was sent.
                window_min_bytes: Vec<Option<u64>>,
                /// Mean round trip; None without one.
                rtt_mean_s: Vec<Option<f64>>,
                /// Retransmissions.
                retransmitted: Vec<u32>,
            }

            /// Cause that limited a connection.
            Verdict {
                /// The cause, in the words of `docs/captures.md`.
                cause: &'static str,
                /// Causes that look the same here.
                cannot_tell_from: Vec<&'static str>,
                /// Probability that the cause is right, between 0 and 1.
                confidence: f64,
                /// Evidence.
                why: String,
                /// Next step.
                next: &'static str,
                /// Reasons for which the confidence is lower.
                limits: Vec<String>,
                /// Other causes that the capture speaks for.
                others: Vec<OtherCause>,
            }

            /// A cause that the capture speaks for less strongly.
            OtherCause {
                /// The cause.
                cause: &'static str,
                /// Strength of its rule, or its probability, between 0 and 1.
                strength: f64,
                /// Evidence.
                why: String,
            }

            /// Estimate of the congestion control.
            ControlEstimate {
                /// Name as in an experiment; None where it cannot be told.
                name: Option<&'static str>,
                /// Confidence, between 0 and 1.
                confidence: f64,
                /// Evidence.
                why: String,
            }
        }
    };
}

macro_rules! plain {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $about:literal])* $(#[serde($serde:meta)])? $field:ident: $type:ty,)* })*) => {
        $($(#[doc = $doc])* #[derive(Clone, Debug, Serialize)] pub struct $name {
            $($(#[doc = $about])* $(#[serde($serde)])? pub $field: $type,)*
        })*
    };
}

records!(plain);

/// One or more captures read as one.
#[derive(Clone, Debug, Serialize)]
pub struct Capture {
    /// Connections by number. Of more than 10,000 only those with the most data are kept.
    pub connections: Vec<Connection>,
    /// Connections that were not kept.
    pub left_out: u64,
    /// Payload of the connections that were not kept.
    pub left_out_bytes: u64,
    /// Time of the first packet, in s since 1970; None without a packet.
    pub start_s: Option<f64>,
    /// Time from the first packet to the last.
    pub duration_s: f64,
    /// Files, in the order given.
    pub files: Vec<CaptureFile>,
}

impl Capture {
    /// The capture as JSON. Keys are sorted.
    pub fn json(&self) -> String {
        serde_json::to_value(self).expect("every key is a string").to_string()
    }
}
