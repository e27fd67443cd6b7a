//! The control channel of iperf3, the client's side, after the wiki of its project (`IperfProtocolStates`) and the conversations of iperf3 3.12.
//!
//! The client opens each connection with a cookie. Then the server says a state in one byte, and the client does what that asks for; JSON goes after
//! its length. The client says two states itself: the end of the test, and the end of it all.

use serde::{Deserialize, Serialize};

/// TCP port of a server, unless it has another.
pub const PORT: u16 = 5201;
/// Bytes of a cookie: 36 characters and a zero.
pub const COOKIE: usize = 37;
/// Letters of a cookie.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bytes of JSON that are read at most.
pub const LONGEST: usize = 1 << 20;
/// Characters of a server's text that are repeated to the user.
const SHOWN: usize = 200;

/// State of a server, as it says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It wants the parameters.
    Parameters,
    /// It wants the data connections.
    Streams,
    /// It has them.
    Start,
    /// Data flows.
    Running,
    /// It wants the client's results, and sends its own.
    Results,
    /// It has both, and waits for the client's end.
    Display,
    /// Its operator has ended it.
    Terminated,
    /// It measures with somebody else.
    Denied,
    /// It gives up: two numbers of an error follow.
    Failed,
}

impl State {
    /// Word of a client: the test is over.
    pub const TEST_END: u8 = 4;
    /// Word of a client: it has the results.
    pub const DONE: u8 = 16;

    /// Reads a state; `None`: a server says no such thing.
    pub fn of(byte: u8) -> Option<Self> {
        Some(match byte as i8 {
            1 => State::Start,
            2 => State::Running,
            9 => State::Parameters,
            10 => State::Streams,
            11 => State::Terminated,
            13 => State::Results,
            14 => State::Display,
            -1 => State::Denied,
            -2 => State::Failed,
            _ => return None,
        })
    }
}

/// Returns a cookie from random bytes.
pub fn cookie(random: [u8; COOKIE - 1]) -> [u8; COOKIE] {
    let mut cookie = [0; COOKIE];
    for (letter, byte) in cookie.iter_mut().zip(random) {
        *letter = LETTERS[usize::from(byte) % LETTERS.len()];
    }
    cookie
}

/// Parameters of a test over TCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Always.
    pub tcp: bool,
    /// Seconds at the beginning that are not counted.
    pub omit: u32,
    /// Seconds.
    pub time: u32,
    /// Bytes; 0: as many as the time has.
    pub num: u64,
    /// Writes; 0: as many as the time has.
    pub blockcount: u64,
    /// Connections.
    pub parallel: u32,
    /// True: the server sends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    /// Bytes of each write.
    pub len: u32,
    /// Congestion control of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Version of the client.
    pub client_version: &'static str,
}

impl Parameters {
    /// Returns the parameters of one connection for `time` seconds.
    pub fn new(time: u32, reverse: bool, congestion: Option<String>) -> Self {
        Parameters {
            tcp: true,
            omit: 0,
            time,
            num: 0,
            blockcount: 0,
            parallel: 1,
            reverse,
            len: 1 << 17,
            congestion,
            client_version: "3.12",
        }
    }
}

/// Results of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// CPU of the whole process: percent of one.
    #[serde(default)]
    pub cpu_util_total: f64,
    /// CPU in its own code.
    #[serde(default)]
    pub cpu_util_user: f64,
    /// CPU in the kernel.
    #[serde(default)]
    pub cpu_util_system: f64,
    /// 1: it sends and counts retransmissions.
    #[serde(default)]
    pub sender_has_retransmits: i128,
    /// Congestion control of its sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Its ends of the connections.
    pub streams: Vec<Stream>,
}

/// Results of one end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Number, from 1; 2 is left out.
    pub id: i64,
    /// Bytes that its application has written or read.
    pub bytes: u64,
    /// Segments that it retransmitted; -1, which iperf3 3.12 writes as 2^64 - 1: it does not know.
    #[serde(default)]
    pub retransmits: i128,
    /// Of UDP alone.
    #[serde(default)]
    pub jitter: f64,
    /// Of UDP alone.
    #[serde(default)]
    pub errors: i64,
    /// Of UDP alone.
    #[serde(default)]
    pub packets: i64,
    /// Begin: seconds.
    #[serde(default)]
    pub start_time: f64,
    /// End.
    #[serde(default)]
    pub end_time: f64,
}

/// Reads the results of a server.
///
/// # Errors
/// Text that is not such JSON, and numbers that cannot be.
pub fn results(text: &[u8]) -> Result<Results, String> {
    let results: Results = serde_json::from_slice(text).map_err(|e| shown(&format!("its results cannot be read: {e}")))?;
    let [stream] = &results.streams[..] else { return Err(format!("it has results of {} connections, not of one", results.streams.len())) };
    let is_time = stream.start_time >= 0.0 && stream.end_time >= stream.start_time && stream.end_time < 1e6;
    let is_share = (0.0..=1e6).contains(&results.cpu_util_total);
    if !is_time || !is_share {
        return Err("its results have times or shares that cannot be".to_owned());
    }
    Ok(Results { congestion_used: results.congestion_used.map(|name| shown(&name)), ..results })
}

/// A text of the other side as one short line.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Results of iperf3 3.12 after a second at 10 Mbit/s.
    const SEEN: &str = r#"{"cpu_util_total":1.2,"cpu_util_user":0.4,"cpu_util_system":0.8,"sender_has_retransmits":18446744073709551615,
        "congestion_used":"cubic","streams":[{"id":1,"bytes":1310720,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,
        "end_time":1.000341}]}"#;

    #[test]
    fn results_of_a_server_are_read_and_those_that_cannot_be_are_refused() {
        let read = results(SEEN.as_bytes()).unwrap();
        assert_eq!(
            (read.streams[0].bytes, read.congestion_used.as_deref(), read.streams[0].end_time),
            (1_310_720, Some("cubic"), 1.000341)
        );
        for (from, to, said) in [
            ("1.000341", "-1", "cannot be"),
            ("1310720", "-1", "cannot be read"),
            (r#""streams":["#, r#""streams":[], "x":["#, "of 0 connections"),
            ("cubic", "a\\nb", ""),
            ("{", "[", "cannot be read"),
        ] {
            let changed = SEEN.replacen(from, to, 1);
            match results(changed.as_bytes()) {
                Ok(read) => assert!(said.is_empty() && read.congestion_used.as_deref() == Some("a b"), "{changed}"),
                Err(why) => assert!(!said.is_empty() && why.contains(said), "{why}"),
            }
        }
        assert!(results("[".repeat(100_000).as_bytes()).is_err(), "no depth is too great for the stack");
    }

    #[test]
    fn parameters_and_cookies_are_as_servers_have_them() {
        let text = serde_json::to_string(&Parameters::new(10, true, None)).unwrap();
        assert_eq!(
            text,
            r#"{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"reverse":true,"len":131072,"client_version":"3.12"}"#
        );
        let cookie = cookie([255; 36]);
        assert!(cookie[..36].iter().all(u8::is_ascii_alphanumeric) && cookie[36] == 0);
        assert_eq!((State::of(0xff), State::of(0xfe), State::of(3)), (Some(State::Denied), Some(State::Failed), None));
    }

    proptest! {
        /// Results with any bytes changed: nothing panics, and what is read is bounded.
        #[test]
        fn damaged_results_do_no_harm(changes in prop::collection::vec((0..SEEN.len(), any::<u8>()), 0..6), cut in 0..SEEN.len()) {
            let mut bytes = SEEN.as_bytes().to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            for text in [&bytes[..], &bytes[..cut]] {
                match results(text) {
                    Ok(read) => prop_assert!(read.streams.len() == 1 && read.streams[0].end_time < 1e6),
                    Err(why) => prop_assert!(why.chars().count() <= SHOWN && !why.contains('\n')),
                }
            }
        }
    }
}
