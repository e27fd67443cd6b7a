//! Reports on scripts that fail, need something unsupported, or are none. No text may make us panic.

use longfat_script::{IpVersion, Options, Report, Verdict};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn run(script: &str, file: &str) -> Report {
    longfat_script::run(script, file, &Options::default())
}

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

/// Returns the reports on scripts after a handshake, whose seven lines are not counted.
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
        "+0 < S 0:0(0) win 100 <FO abcdabcd>",
        "+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5",
        "+0 epoll_create(1) = 5",
        "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [100], 4) = 0",
        "+0 send(4, ..., 10, MSG_OOB) = 10",
        "+0 %{ import os }%",
        "+0 %{ print(\"{}\".format(1)) }%",
        "+0 %{ assert tcpi_rcv_ooopack < 10 }%",
        "+0 %{ assert os == 1 }%",
        "+0 `rm -rf /`",
        "+0 `sysctl net.ipv4.tcp_keepalive_time=3`",
        "+0 `sysctl net.ipv4.tcp_sack=0`",
    ]));
}

/// Unsupported features, each with its place: the list of notebook/packetdrill-suite.md, as scripts write it.
#[test]
fn what_the_documentation_says_is_not_supported_is_counted_so() {
    let lines = [
        "+0 < (flowlabel 0x1) . 1:1(0) ack 1 win 100",
        "+0 > [ttl 64] . 1:1(0) ack 1",
        "+0 < 8081 > 8080 . 1:1(0) ack 1 win 100",
        "+0 < ipv4 1.2.3.4 > 5.6.7.8: . 1:1(0) ack 1 win 100",
        "+0 < gre flags 0x0: ipv6 ::1 > 2001:db8::1: S 0:0(0)",
        "+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=1500, os=1, is=1, tsn=1]",
        "+0 < U. 1:1(0) ack 1 win 100 urg 1",
        "+0 < . 1:1(0) ack 1 win 100 <FO 0123456789abcdef,nop,nop>",
        "+0 < . 1:1(0) ack 1 win 100 <md5 000102030405060708090a0b0c0d0e0f,nop,nop>",
        "+0 < . 1:1(0) ack 1 win 100 <mp_capable key_a>",
        "+0 %{\nif tcpi_snd_cwnd > 1:\n  print(1)\n}%",
        "+0 %{ for i in range(3): print(i) }%",
        "+0 %{ def f(x):\n  return x }%",
        "+0 %{ d = {'a': 1} }%",
        "+0 %{ assert tcpi[0] == 1 }%",
        "+0 %{ a[0] = 1 }%",
        "+0 %{ a, b = 1, 2 }%",
        "+0 %{ f(1) }%",
        "+0 %{ assert f'{tcpi_snd_cwnd}' == '10' }%",
        "+0 %{ print('it\\'s {}'.format(1)) }%",
        "+0 %{ assert tcpi_rcv_rtt > 0 }%",
        "+0 %{ assert tcpi_rcv_space > 0 }%",
        "+0 %{ assert tcpi_delivered_ce == 0 }%",
        "+0 %{ assert tcpi_pacing_rate > 0 }%",
        "+0 recv(4, ..., 10, MSG_OOB) = 10",
        "+0 sendfile(4, 5, [0], 10) = 10",
        "+0 `ip route show`",
    ];
    for line in lines {
        let report = run(&format!("{OPEN}{line}"), "t.pkt");
        assert!(matches!(&report.verdict, Verdict::NotSupported(finding) if finding.place.line >= 8), "{line}: {report}");
    }
}

#[test]
fn what_only_a_kernel_cares_about_is_read() {
    for line in [
        "+0 getsockname(4, {sa_family = AF_INET6, sin6_port = htons(8080), inet_pton(AF_INET6, \"::1\", &sin6_addr)}, [28]) = 0",
        "+0 accept(3, {sa_family = AF_INET, sin_port = htons(8080), sin_addr = inet_addr(\"192.168.0.1\")}, ...) = -1",
    ] {
        let verdict = run(&format!("{OPEN}{line}"), "t.pkt").verdict;
        assert!(!matches!(verdict, Verdict::Error(_)), "{verdict:?}");
    }
    let script = OPEN.replace(
        "bind(3, ..., ...)",
        "bind(3, {sa_family = AF_INET6, sin6_port = htons(80), inet_pton(AF_INET6, \"::\", &sin6_addr)}, 28)",
    );
    assert_eq!(run(&script, "t.pkt").verdict, Verdict::Pass);
}

#[test]
fn one_script_runs_under_each_version_of_ip() {
    let under =
        |script: &str, ip_version| longfat_script::run(script, "t.pkt", &Options { ip_version: Some(ip_version), ..Options::default() });
    for ip in [IpVersion::V4, IpVersion::V6, IpVersion::V4MappedV6] {
        let report = under(OPEN, ip);
        assert_eq!((report.verdict, report.ip_version), (Verdict::Pass, ip), "the mss is the same");
    }
    let any_push = Options { settings: vec![("push".to_owned(), "any".to_owned())], ..Options::default() };
    let script = format!("{OPEN}+0 write(4, ..., 4000) = 4000\n+0 > . 1:4001(4000) ack 1");
    assert_eq!(longfat_script::run(&script, "t.pkt", &any_push).verdict, Verdict::Pass, "an option from outside");
    // A script that says its own is held to it.
    let own = format!("--ip_version=ipv6\n{}", OPEN.replace("1460", "1440"));
    let report = under(&own, IpVersion::V4);
    assert_eq!((report.verdict, report.ip_version), (Verdict::Pass, IpVersion::V6));
}

#[test]
fn init_scripts_give_what_is_ours_and_a_note_of_the_rest() {
    let folder = std::env::temp_dir().join(format!("longfat-init-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let shell = "#!/bin/sh\n# none\nip link set lo up\nsysctl -q net.ipv4.tcp_sack=0 # no SACK\n";
    fs::write(folder.join("a.sh"), shell).unwrap();
    fs::write(
        folder.join("defaults.sh"),
        "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\nsysctl -q \\\n net.ipv4.tcp_sack=0\n",
    )
    .unwrap();
    fs::write(folder.join("itself.sh"), "./itself.sh\n").unwrap();
    let file = folder.join("t.pkt").display().to_string();
    let offers = OPEN.replace("<mss 1000>", "<mss 1000,sackOK>");
    let report = run(&format!("--init_scripts=a.sh\n{offers}"), &file);
    let other = run(&format!("--init_scripts=b.sh\n{offers}"), &file);
    // A script that is called counts as well: 15 MiB need a scale of 8. What stands after all events puts back what was set.
    let scaled = offers.replace("sackOK", "nop,nop,sackOK,nop,wscale 2").replace("<mss 1460>", "<mss 1460,nop,wscale 8>");
    let called = run(
        &format!("`./defaults.sh\n./set_sysctls.py /proc/sys/net/ipv4/tcp_ecn=0`\n{scaled}\n`/tmp/sysctl_restore_${{PPID}}.sh`"),
        &file,
    );
    let endless = run(&format!("`./itself.sh`\n{offers}"), &file);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(report.verdict, Verdict::Pass, "no SACK is agreed: {report}");
    assert!(report.notes.len() == 1 && report.notes[0].1.contains("a.sh:3: the shell command `ip link set lo up`"), "{:?}", report.notes);
    assert!(matches!(other.verdict, Verdict::Error(ref finding) if finding.message.contains("b.sh cannot be read")), "{other}");
    assert_eq!(called.verdict, Verdict::Pass, "{called}");
    assert!(matches!(endless.verdict, Verdict::Error(ref finding) if finding.message.contains("more than 8 deep")), "{endless}");
}

#[test]
fn a_verbose_run_prints_every_packet() {
    let report = longfat_script::run(OPEN, "t.pkt", &Options { verbose: true, ..Options::default() });
    assert_eq!(
        report.printed,
        [
            "  0.000000 < S 0:0(0) win 64000 <mss 1000>",
            "  0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>",
            "  0.100000 < . 1:1(0) ack 1 win 64000",
        ]
    );
    assert_eq!(run(&format!("--verbose\n{OPEN}"), "t.pkt").printed, report.printed);
}

/// A command takes its time; before all else that is before time begins.
#[test]
fn a_sleep_is_time_that_passes() {
    let script = format!("`sleep 5`\n{OPEN}+0 `sleep 0.25`\n+.05 write(4, ..., 1000) = 1000\n0.4 > P. 1:1001(1000) ack 1");
    assert_eq!(run(&script, "t.pkt").verdict, Verdict::Pass);
}

#[test]
fn push_is_where_the_stack_sets_it_or_not_looked_at() {
    let ten = |head: &str, split: &str| {
        let open = OPEN.replace("+.1 <", "+0 <");
        run(
            &format!("{head}\n{open}+0 write(4, ..., 10000) = 10000\n+0 > {split} 1:5001(5000) ack 1\n+0 > P. 5001:10001(5000) ack 1"),
            "t.pkt",
        )
        .verdict
    };
    for (head, split, passes) in [
        ("", "P.", true),
        ("", ".", false),
        ("--push=write", "P.", false),
        ("--push=write", ".", true),
        ("--push=any", "P.", true),
        ("--push=any", ".", true),
        ("--stack=rfc", ".", true),
        ("--stack=rfc\n--push=frames", "P.", true),
    ] {
        assert_eq!(ten(head, split) == Verdict::Pass, passes, "{head} {split}");
    }
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

fn with(script: &str, options: &Options) -> Report {
    longfat_script::run(script, "t.pkt", options)
}

fn said(options: &[(&str, &str)]) -> Options {
    Options { settings: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(), ..Options::default() }
}

/// A chain is not deep, however long; nesting is bounded.
#[test]
fn long_expressions_are_no_deep_ones() {
    for operator in ["+", "*", "and", "or", "==", "|"] {
        let chain = vec!["1"; 20_000].join(&format!(" {operator} "));
        let report = run(&format!("+0 %{{\nx = {chain}\nassert x\n}}%"), "t.pkt");
        assert_eq!(report.verdict, Verdict::Pass, "{operator}");
    }
    let sum = run(&format!("+0 %{{ assert 0{} == 20000 }}%", " + 1".repeat(20_000)), "t.pkt");
    assert_eq!(sum.verdict, Verdict::Pass);
    for (deep, why) in [
        (format!("+0 %{{ assert {}1{} }}%", "(".repeat(20_000), ")".repeat(20_000)), "less nesting"),
        (format!("+0 %{{ assert 1{} }}%", " ** 1".repeat(20_000)), "less nesting"),
        (format!("+0 %{{ assert {}1 }}%", "-".repeat(20_000)), "fewer signs"),
        (format!("+0 %{{\nx = 1\n{}}}%", "x = [x]\n".repeat(20_000)), "lists are nested more than 32 deep"),
        (format!("+0 %{{\nx = 1\n{}}}%", "x = [x, x]\n".repeat(30)), "a list holds more than 100000 values"),
    ] {
        assert!(run(&deep, "t.pkt").to_string().contains(why), "{why}");
    }
}

/// The stack comes first, wherever it is named, and other settings stay.
#[test]
fn options_do_not_hang_on_their_order() {
    // PSH is on the last segment of a write alone, unless frames are looked at.
    let script = |head: &str, flag: &str| {
        format!(
            "{head}{OPEN}+0 write(4, ..., 3000) = 3000\n+0 > . 1:1001(1000) ack 1\n+0 > {flag} 1001:2001(1000) ack 1\n+0 > P. 2001:3001(1000) ack 1\n"
        )
    };
    for head in ["--stack=rfc\n--push=any\n", "--push=any\n--stack=rfc\n"] {
        assert_eq!(with(&script(head, "P."), &Options::default()).verdict, Verdict::Pass, "{head}");
    }
    for options in [[("push", "any"), ("stack", "rfc")], [("stack", "rfc"), ("push", "any")]] {
        assert_eq!(with(&script("", "P."), &said(&options)).verdict, Verdict::Pass, "{options:?}");
    }
    assert_eq!(with(&script("--stack=rfc\n", "P."), &said(&[("push", "any")])).verdict, Verdict::Pass);
    assert!(matches!(with(&script("--stack=rfc\n", "P."), &Options::default()).verdict, Verdict::Fail(_)));
    // The script has the last word, and says so.
    let report = with(&script("--push=write\n--stack=rfc\n", "."), &said(&[("push", "any")]));
    assert_eq!((report.verdict, report.warnings.len()), (Verdict::Pass, 1));
    assert_eq!(report.warnings[0].1, "--push=write of the script holds, and not `any` from outside");
    // Twice the same is once; twice something else is a mistake.
    assert_eq!(with(&script("--stack=rfc\n--stack=rfc\n--push=any\n", "P."), &Options::default()).warnings, []);
    let twice = with(&script("--stack=rfc\n--stack=linux\n", "P."), &Options::default());
    assert!(twice.to_string().contains("t.pkt:2:1: error: --stack is said twice, as `rfc` and as `linux`"), "{twice}");
}

/// With `all`, each expectation has its verdict, and one that is not met spoils no other.
#[test]
fn all_expectations_have_a_verdict() {
    let all = Options { all: true, ..said(&[("stack", "rfc")]) };
    let verdicts = |script: &str| {
        let report = with(&format!("{OPEN}{script}"), &all);
        let words: Vec<&str> = report.expectations[5..].iter().map(|one| one.verdict.word()).collect();
        (report.verdict.word(), words.join(" "))
    };
    let write = "+0 write(4, ..., 3000) = 3000\n";
    let (first, second, third) = ("+0 > . 1:1001(1000) ack 1\n", "+0 > . 1001:2001(1000) ack 1\n", "+0 > P. 2001:3001(1000) ack 1\n");
    assert_eq!(verdicts(&[write, first, second, third].concat()), ("pass", "pass pass pass pass".to_owned()));
    // One that differs; one that nothing expects; one that is not sent.
    let wrong = "+0 > . 1001:2001(1000) ack 2\n";
    assert_eq!(verdicts(&[write, first, wrong, third].concat()), ("fail", "pass pass fail pass".to_owned()));
    assert_eq!(verdicts(&[write, first, third].concat()), ("fail", "pass pass fail pass".to_owned()));
    let never = "+0 > . 9001:9002(1) ack 1\n";
    assert_eq!(verdicts(&[write, first, never, second, third].concat()), ("fail", "pass pass fail pass pass".to_owned()));
    // States, and calls.
    let states = "+0 %{\nassert tcpi_snd_cwnd == 3\nassert tcpi_rto > 0\n}%\n+0 write(4, ..., 1000) = 7\n+0 > P. 1:1001(1000) ack 1\n";
    let report = with(&format!("{OPEN}{states}"), &all);
    assert_eq!(report.expectations.len(), 9);
    let state = report.expectations[5].verdict.finding().unwrap();
    assert_eq!((report.expectations[5].what.as_str(), state.place.line), ("assert tcpi_snd_cwnd == 3", 9));
    assert!(state.message.contains("tcpi_snd_cwnd is 10"), "{}", state.message);
    assert_eq!(report.expectations[7].verdict.finding().unwrap().message, "write returns 1000 instead of 7");
    assert_eq!(report.verdict.finding(), Some(state), "the first is the script's");
    // The script ends there without `--all`.
    let one = with(&format!("{OPEN}{states}"), &said(&[("stack", "rfc")]));
    assert_eq!(one.expectations.len(), 6);
}
