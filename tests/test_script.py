"""`longfat script`: verdicts, exit codes, folders, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, command

pytestmark = pytest.mark.slow

OPEN = """\
0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+0  < S 0:0(0) win 64000 <mss 1000>
+0  > S. 0:0(0) ack 1 <mss 1460>
"""
GOOD = OPEN + "+.1 < . 1:1(0) ack 1 win 64000\n+0  accept(3, ..., ...) = 4\n+0  %{ print('cwnd', tcpi_snd_cwnd) }%\n"
BAD = OPEN.replace("ack 1", "ack 2")
ELSEWHERE = OPEN + "+.1 < icmp unreachable host_unreachable [0:0(0)]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "scripts" / "more"
    below.mkdir(parents=True)
    (tmp_path / "scripts" / "good.pkt").write_text(GOOD)
    (tmp_path / "scripts" / "elsewhere.pkt").write_text("`./defaults.sh`\n" + ELSEWHERE)
    (below / "bad.pkt").write_text(BAD)
    (below / "none.pkt").write_text(GOOD + "+0 < S. 1:1\n")
    return tmp_path / "scripts"


def test_each_verdict_is_counted_apart(folder: Path) -> None:
    done = command("script", "scripts", cwd=folder.parent)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "scripts/elsewhere.pkt:7:1: not supported: ICMP (unreachable host_unreachable)",
        "  note: line 1: `./defaults.sh` is not there; the defaults of the stack `linux` hold",
        "cwnd 10",
        "scripts/more/bad.pkt:5:1: fail: the packet differs in acknowledgment number",
        "  expected    0.000000 > S. 0:0(0) ack 2 <mss 1460>",
        "  got         0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>",
        "  before it",
        "              0.000000 < S 0:0(0) win 64000 <mss 1000>",
        "scripts/more/none.pkt:10:1: error: unexpected the end of the file; expected `(` after sequence numbers",
        "1 passed, 1 failed, 1 not supported, 1 with errors",
    ]


def test_what_passes_and_what_is_not_supported_is_no_failure(folder: Path) -> None:
    done = command("script", folder / "good.pkt", folder / "elsewhere.pkt")
    assert done.returncode == 0
    assert done.stdout.endswith("1 passed, 0 failed, 1 not supported\n")


def test_a_suite_is_a_table_with_a_reason_for_each_that_does_not_pass(folder: Path) -> None:
    done = command("script", "--suite", folder)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "folder  passed  failed  not supported  errors",
        ".            1       0              1       0",
        "more         0       1              0       1",
        "",
        "elsewhere.pkt:7: not supported: ICMP (unreachable host_unreachable)",
        "more/bad.pkt:5: fail: the packet differs in acknowledgment number",
        "more/none.pkt:10: error: unexpected the end of the file; expected `(` after sequence numbers",
        "1 passed, 1 failed, 1 not supported, 1 with errors",
    ]


def test_json(folder: Path) -> None:
    done = command("script", "--json", folder / "good.pkt", folder / "more" / "bad.pkt")
    assert done.returncode == 1
    good, bad = json.loads(done.stdout)
    assert (good["verdict"], good["line"], good["printed"]) == ("pass", None, ["cwnd 10"])
    assert (bad["verdict"], bad["line"], bad["column"]) == ("fail", 5, 1)


def test_our_own_scripts_pass_under_every_version_of_ip() -> None:
    count = len(list((ROOT / "tests" / "scripts").glob("*.pkt")))
    own = sum("--ip_version" in path.read_text() for path in (ROOT / "tests" / "scripts").glob("*.pkt"))
    done = command("script", "--ip-version", "all", ROOT / "tests" / "scripts")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(f"{3 * count - 2 * own} passed, 0 failed, 0 not supported\n")


def test_a_failure_says_under_which_version_of_ip(folder: Path) -> None:
    done = command("script", "--ip-version=ipv4", "--ip-version=ipv6", folder / "more" / "bad.pkt")
    assert done.returncode == 1
    assert "bad.pkt:5:1: fail (ipv4): the packet differs" in done.stdout
    assert "bad.pkt:5:1: fail (ipv6): the packet differs" in done.stdout
    assert command("script", "--ip-version=ipx", folder).stderr == (
        "error: --ip-version ipx: expected ipv4, ipv6, ipv4-mapped-ipv6 or all\n"
    )


def test_verbose_and_init_scripts(folder: Path) -> None:
    init = folder / "init.sh"
    init.write_text("#!/bin/sh\nsysctl -q net.ipv4.tcp_ecn=0\nip route flush cache\n")
    done = command("script", "--verbose", "--init-scripts", init, folder / "good.pkt", folder / "elsewhere.pkt")
    assert done.stdout.splitlines()[:2] == [
        "  0.000000 < S 0:0(0) win 64000 <mss 1000>",
        "  0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>",
    ]
    assert f"{init}:3: the shell command `ip route flush cache` is passed over" in done.stdout


@pytest.mark.parametrize("what", ["no-such.pkt", "empty", "binary.pkt"])
def test_a_mistake_is_one_message(what: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary.pkt").write_bytes(b"\xff\xfe")
    done = command("script", what, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_all_reports_each_expectation(folder: Path) -> None:
    bad = folder / "more" / "bad.pkt"
    bad.write_text(BAD + "+.1 < . 1:1(0) ack 1 win 64000\n+0  accept(3, ..., ...) = 4\n+0  %{ assert tcpi_snd_cwnd == 7 }%\n")
    done = command("script", "--all", bad)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert f"{bad}:5:1: fail: the packet differs in acknowledgment number" in lines
    assert any(line.startswith(f"{bad}:8:8: fail: assert tcpi_snd_cwnd == 7 does not hold") for line in lines), lines
    assert lines[-2:] == [f"{bad}: 4 of 6 expectations met", "0 passed, 1 failed, 0 not supported"]
    (report,) = json.loads(command("script", "--all", "--json", bad).stdout)
    assert [one["verdict"] for one in report["expectations"]] == ["pass", "pass", "pass", "fail", "pass", "fail"]
    assert (report["line"], report["expectations"][3]["what"][:2]) == (5, "> ")


def test_an_option_that_a_script_overrides_is_warned_of(folder: Path) -> None:
    good = folder / "good.pkt"
    good.write_text("--push=any\n" + GOOD)
    done = command("script", "--option", "push=frames", "--option", "stack=linux", good)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == f"{good}:1: warning: --push=any of the script holds, and not `frames` from outside"
    twice = command("script", "--option", "push=any", "--option", "push=write", folder / "elsewhere.pkt")
    assert "--push is said twice, as `any` and as `write`" in twice.stdout
