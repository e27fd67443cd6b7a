//! What is said of scripts that fail, need what is not there, or are none; and that no text at all makes us panic.

use longfat_script::{Verdict, run};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 64000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 64000
+0 accept(3, ..., ...) = 4
";

/// The report of each script, one after the other.
fn reports(scripts: &[&str]) -> String {
    scripts.iter().map(|script| format!("{}\n", run(script, "t.pkt"))).collect()
}

/// The same after a handshake, its seven lines not counted.
fn opened(scripts: &[&str]) -> String {
    let scripts: Vec<String> = scripts.iter().map(|script| format!("{OPEN}{script}")).collect();
    reports(&scripts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn bad_syntax_is_one_error_with_its_place_and_what_was_expected() {
    insta::assert_snapshot!(reports(&[
        "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP = 3",
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP)",
        "+0 < Q 0:0(0)",
        "+0 < S 0:5(0) win 1",
        "+0 < S 0:0(0) win 70000",
        "+0 < S 0:0(0) <mss>",
        "+0 < S 0:0(0) <mss 1000, wscal 7>",
        "+0 < S 0:0(0) <...>",
        "+0 > . 1:1(0) <TS val 1>",
        "+0 ~ 1 close(3) = 0",
        "+1~+0 > . 1:1(0)",
        "+1~2 > . 1:1(0)",
        "-1 close(3) = 0",
        "+0 /* no end",
        "+0 `no end",
        "+0 %{ assert }%",
        "+0 %{ assert 1 + }%",
        "+0 %{\nassert 1 == 1\nassert tcpi_snd_cwnd = 10 }%",
        "+0 < [ect2] . 1:1(0) ack 1",
        "+99999999 close(3) = 0",
        "+0 write(3, ..., 99999999999999999999) = 1",
        "--ip_version=ipx",
        "--set tcp.intial_window=\"4 segments\"",
        "--set tcp.initial_window=4",
        "\u{e9}",
    ]));
}

#[test]
fn a_failure_shows_expected_and_got_and_what_came_before() {
    insta::assert_snapshot!(opened(&[
        "+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 2",
        "+0 write(4, ..., 1000) = 1000\n+0.01 > P. 1:1001(1000) ack 1",
        "+0 write(4, ..., 1000) = 1000\n+0.01~+.05 > P. 1:1001(1000) ack 1 win 5 <nop>",
        "+0 write(4, ..., 1000) = 999",
        "+0 read(4, ..., 1000) = 10",
        "+0...0.2 read(4, ..., 1000) = 10",
        "+0...0.2 read(4, ..., 1000) = 10\n+.1 < . 1:11(10) ack 1 win 64000\n+.2 close(4) = 0",
        "+0 > . 1:1(0) ack 1",
        "+0 %{ assert tcpi_snd_cwnd == 11 and tcpi_unacked == 0, 'too small' }%",
        "+0 %{ assert 1 / 0 }%",
        "+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLIN}], 1, 0) = 1",
        "+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [900], [4]) = 0",
        "0.05 close(4) = 0",
    ]));
}

#[test]
fn what_is_not_there_is_said_so() {
    insta::assert_snapshot!(opened(&[
        "+0 < icmp unreachable frag_needed mtu 1400 [1:1001(1000)]",
        "+0 < [1:1001(1000)] icmp unreachable host_unreachable",
        "+0 < udp(100)",
        "+0 < . 1:1(0) ack 1 win 100 urg 5",
        "+0 < . 1:1(0) ack 1 win 100 <FO abcd>",
        "+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5",
        "+0 epoll_create(1) = 5",
        "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [100], 4) = 0",
        "+0 send(4, ..., 10, MSG_OOB) = 10",
        "+0 %{ import os }%",
        "+0 %{ print(\"{}\".format(1)) }%",
        "+0 %{ assert tcpi_last_ack_recv < 10 }%",
        "+0 %{ assert os == 1 }%",
        "+0 `rm -rf /`",
        "+0 `sysctl net.ipv4.tcp_keepalive_time=3`",
        "+0 `sysctl net.ipv4.tcp_sack=0`",
    ]));
}

#[test]
fn sysctls_and_commands_are_read_as_a_shell_would() {
    let script = format!(
        "`./defaults.sh\nsysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_rmem=\"4096 87380 500000\"\nset_sysctls.py /proc/sys/net/ipv4/tcp_sack=0`\n{}",
        OPEN.replace("<mss 1000>", "<mss 1000,sackOK,TS val 1 ecr 0,nop,wscale 7>").replace("<mss 1460>", "<mss 1460,nop,wscale 3>")
    );
    let report = run(&script, "t.pkt");
    assert_eq!(report.verdict, Verdict::Pass, "{report}");
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
}

#[test]
fn a_block_prints_and_remembers() {
    let report = run(
        &format!(
            "{OPEN}+0 %{{ cwnd = tcpi_snd_cwnd\nprint(\"cwnd\", cwnd, 7 // 2, -7 // 2, -7 % 3, 2 ** 10, 1 / 4) }}%\n+1 %{{ assert cwnd in (9, 10) and not cwnd < 9 < cwnd; assert min(3, 2.5, 9) == 2.5 and abs(-3) == 3 }}%"
        ),
        "t.pkt",
    );
    assert_eq!(report.verdict, Verdict::Pass, "{report}");
    assert_eq!(report.printed, ["cwnd 10 3 -4 2 1024 0.25"]);
}

/// Lines of all our scripts, to shuffle.
fn lines() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A word cut out, doubled, or put in from a list of words that mean something.
fn mutate(text: &str, at: usize, how: u8, word: &str) -> String {
    let mut at = at % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = text.split_at(at);
    let cut = after.char_indices().nth(1 + usize::from(how) % 5).map_or(after.len(), |(i, _)| i);
    match how % 3 {
        0 => format!("{before}{}", &after[cut..]),
        1 => format!("{before}{word}{after}"),
        _ => format!("{before}{}{after}", &after[..cut]),
    }
}

const WORDS: &[&str] = &[
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "%{",
    "}%",
    "`",
    "\"",
    "...",
    "+",
    "~",
    "*",
    "-",
    ".",
    ",",
    ":",
    "=",
    "|",
    "0",
    "1",
    "4294967295",
    "65535",
    "9223372036854775807",
    "99999.999",
    "S.",
    "F",
    "R",
    "SEW",
    "ack",
    "win",
    "mss",
    "sack 1:2",
    "TS val 1 ecr 1",
    "close(4) = 0",
    "read(4, ..., 100) = 100",
    "write(4, ..., 100000000) = 100000000",
    "--strict",
    "shutdown(4, SHUT_RDWR) = 0",
    "assert",
    "not ",
    "**",
    "<<",
    "/ 0",
    "tcpi_rto",
    "\u{e9}",
    "\n",
    "//",
    "/*",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
        let _ = run(&text, "t.pkt");
    }

    /// Scripts that nearly are scripts get far into the runner.
    #[test]
    fn no_mutated_script_panics(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..25),
        changes in prop::collection::vec((any::<usize>(), any::<u8>(), any::<prop::sample::Index>()), 0..4),
    ) {
        let lines = lines();
        let mut text = OPEN.to_owned();
        for pick in picks {
            text += pick.get(&lines[..]).as_str();
            text.push('\n');
        }
        for (at, how, word) in changes {
            text = mutate(&text, at, how, word.get::<&str>(WORDS));
        }
        let first = run(&text, "t.pkt");
        prop_assert_eq!(first, run(&text, "t.pkt"));
    }
}
