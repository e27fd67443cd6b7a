"""Tuning: recorded hosts in every state, hostile ones, scripts in a network namespace of their own, and gains by simulation."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, command
from longfat.advice.linux import Line
from longfat.advice.question import read
from longfat.cli import tune as verb
from longfat.errors import LongfatError
from longfat.live.seen import Facts
from longfat.live.survey import Direction
from longfat.live.ways import Way
from longfat.report import terminal
from longfat.text import CONTROL
from longfat.theory.probe import Estimate
from longfat.tune import compare, script, show
from longfat.tune.check import Row, State, look
from longfat.tune.checks import CHECKS
from longfat.tune.host import Host, UnreadableError, cpus, device_name
from longfat.tune.setting import Setting, of_file, of_sysctl
from longfat.tune.simulate import KNOBS, Gain, simulate
from longfat.tune.target import Route, Target, address_of, route
from test_seen import FULL as FILLED
from test_seen import burst as bursted
from test_seen import surveyed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="longfat tune reads Linux")

SYSCTL = "proc/sys/net"
FULL, BUFFER = "a full path", "send buffer"
AFAR = "203.0.113.9"
RING = (
    "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t8192\n"
    "Current hardware settings:\nRX:\t\t{}\nRX Mini:\tn/a\nTX:\t\t1024\n"
)
FEATURES = (
    "Features for eth0:\ntcp-segmentation-offload: {}\n\ttx-tcp-segmentation: on\ngeneric-segmentation-offload: on\n"
    "generic-receive-offload: {}\nlarge-receive-offload: off [fixed]\n"
)
QDISC = '[{{"kind":"{}","handle":"{}","root":true,"refcnt":2,"options":{{}}}}]'
MQ = '[{"kind":"mq","handle":"0:","root":true,"options":{}},{"kind":"fq_codel","handle":"0:","parent":":1","options":{}}]'
DTN: dict[str, str] = {
    f"{SYSCTL}/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    f"{SYSCTL}/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
    f"{SYSCTL}/core/rmem_max": "212992\n",
    f"{SYSCTL}/core/wmem_max": "212992\n",
    f"{SYSCTL}/ipv4/tcp_mem": "762480\t1016641\t1524960\n",
    f"{SYSCTL}/core/optmem_max": "20480\n",
    f"{SYSCTL}/ipv4/tcp_congestion_control": "reno\n",
    f"{SYSCTL}/ipv4/tcp_available_congestion_control": "reno cubic\n",
    f"{SYSCTL}/ipv4/tcp_allowed_congestion_control": "reno\n",
    f"{SYSCTL}/ipv4/tcp_slow_start_after_idle": "1\n",
    f"{SYSCTL}/ipv4/tcp_moderate_rcvbuf": "1\n",
    f"{SYSCTL}/ipv4/tcp_window_scaling": "1\n",
    f"{SYSCTL}/ipv4/tcp_sack": "1\n",
    f"{SYSCTL}/ipv4/tcp_timestamps": "1\n",
    f"{SYSCTL}/ipv4/tcp_no_metrics_save": "0\n",
    f"{SYSCTL}/ipv4/tcp_no_ssthresh_metrics_save": "1\n",
    f"{SYSCTL}/ipv4/tcp_mtu_probing": "0\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "proc/meminfo": "MemTotal:       65842172 kB\nMemFree:        60000000 kB\n",
    "proc/irq/71/smp_affinity_list": "0-7\n",
    "proc/irq/72/smp_affinity_list": "8-15\n",
    "sys/class/net/eth0/mtu": "9000\n",
    "sys/class/net/eth0/speed": "25000\n",
    "sys/class/net/eth0/statistics/rx_missed_errors": "1204\n",
    "sys/class/net/eth0/device/numa_node": "1\n",
    "sys/class/net/eth0/device/msi_irqs/71": "msix\n",
    "sys/class/net/eth0/device/msi_irqs/72": "msix\n",
    "sys/class/net/eth0/device/iommu_group/type": "DMA-FQ\n",
    "sys/kernel/iommu_groups/7/type": "DMA-FQ\n",
    "sys/devices/system/node/node0/cpulist": "0-7\n",
    "sys/devices/system/node/node1/cpulist": "8-15\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "commands/ip -j route show default": '[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]}]',
    f"commands/ip -j route get {AFAR}": f'[{{"dst":"{AFAR}","gateway":"192.0.2.1","dev":"eth0","flags":[],"cache":[]}}]',
    "commands/ip tcp_metrics show": (
        f"198.51.100.7 age 4.1sec cwnd 10\n{AFAR} age 11.2sec ssthresh 21 cwnd 34 rtt 80123us source 192.0.2.2\n"
    ),
    "commands/tc -j qdisc show dev eth0": MQ,
    "commands/ethtool -g eth0": RING.format(1024),
    "commands/ethtool -c eth0": "Coalesce parameters for eth0:\nAdaptive RX: on  TX: n/a\nrx-usecs:\t8\nrx-frames:\tn/a\n",
    "commands/ethtool -k eth0": FEATURES.format("off", "on"),
    "commands/ethtool -a eth0": "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n",
}
"""A data transfer node as a distribution installs it."""


def record(root: Path, files: dict[str, str | None]) -> Host:
    """A recorded host; None leaves a file out."""
    for name, text in files.items():
        if text is not None:
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return Host(root)


def rows_of(host: Host, rate: str = "10Gbit/s", rtt: str = "80ms", address: str | None = AFAR) -> dict[str, Row]:
    found = look(host, Target(read(rate, rtt, mtu=9000), route(host, address)), CHECKS)
    return {row.check.name: row for row in found}


@pytest.fixture
def dtn(tmp_path: Path) -> Host:
    return record(tmp_path / "dtn", dict(DTN))


def test_a_host_as_installed_is_told_what_to_change(dtn: Host) -> None:
    rows = rows_of(dtn)
    changes = {name: (row.found.now, row.found.wanted) for name, row in rows.items() if row.found.state is State.CHANGE}
    # 10 Gbit/s for 80 ms are 95.4 MiB; two of them in whole MiB are 191, of which the buffers are 2 and 3/2 times.
    assert changes == {
        "receive buffer": ("6 MiB", "382 MiB"),
        "send buffer": ("4 MiB", "286 MiB"),
        "most by setsockopt": ("208 KiB, 208 KiB", "382 MiB, 286 MiB"),
        "ancillary memory": ("20 KiB", "1 MiB"),
        "control": ("reno", "cubic"),
        "qdisc": ("mq of fq_codel", "mq of fq"),
        "allowed controls": ("reno", "reno cubic"),
        "idle restart": ("1", "0"),
        "metrics of HOST": ("ssthresh 21", "deleted"),
        "MTU probing": ("0", "1"),
        "receive ring": ("1024 of 8192, 1204 lost", "8192"),
        "offloads": ("tso off", "on"),
        "interrupts": ("1 of 2 on another node", "node 1"),
        "governor": ("powersave", "performance"),
    }
    assert {name for name, row in rows.items() if row.found.state is State.BY_HAND} == {"kernel"}
    assert not [name for name, row in rows.items() if row.found.state is State.UNREADABLE]
    lines = [line.text for row in rows.values() for line in row.found.lines]
    assert 'sysctl -w net.ipv4.tcp_rmem="4096 131072 400556032"' in lines
    assert "tc qdisc replace dev eth0 root mq" in lines
    assert f"ip tcp_metrics delete {AFAR}" in lines
    assert "echo 8-15 > /proc/irq/71/smp_affinity_list" in lines


def test_a_tuned_host_is_left_alone(tmp_path: Path) -> None:
    """Every setting of the first look, as a script would leave it."""
    big = "4096 131072 2147483647\n"
    tuned = DTN | {
        f"{SYSCTL}/ipv4/tcp_rmem": big,
        f"{SYSCTL}/ipv4/tcp_wmem": big,
        f"{SYSCTL}/core/rmem_max": "2147483647",
        f"{SYSCTL}/core/wmem_max": "2147483647",
        f"{SYSCTL}/core/optmem_max": "1048576",
        f"{SYSCTL}/ipv4/tcp_congestion_control": "cubic",
        f"{SYSCTL}/ipv4/tcp_allowed_congestion_control": "cubic reno",
        f"{SYSCTL}/ipv4/tcp_slow_start_after_idle": "0",
        f"{SYSCTL}/ipv4/tcp_mtu_probing": "1",
        "proc/sys/kernel/osrelease": "6.18.2",
        "proc/irq/71/smp_affinity_list": "8",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
        "commands/ip tcp_metrics show": "",
        "commands/tc -j qdisc show dev eth0": MQ.replace("fq_codel", "fq"),
        "commands/ethtool -g eth0": RING.format(8192),
        "commands/ethtool -k eth0": FEATURES.format("on", "on"),
    }
    rows = rows_of(record(tmp_path, tuned))
    assert {name: row.found for name, row in rows.items() if row.found.state is not State.FINE} == {}


def test_a_short_path_needs_no_larger_buffers(dtn: Host) -> None:
    rows = rows_of(dtn, "1Gbit/s", "1ms")
    assert rows["receive buffer"].found.state is State.FINE
    assert rows["ancillary memory"].found.state is State.FINE


CASES: list[tuple[str, dict[str, str | None], State, str]] = [
    (
        "control",
        {f"commands/ip -j route get {AFAR}": '[{"dev":"eth0","metrics":[{"congestion":"cubic"}]}]'},
        State.FINE,
        "cubic (of the route)",
    ),
    (
        "control",
        {f"commands/ip -j route get {AFAR}": '[{"dev":"eth0","metrics":[{"congestion":"reno"}]}]'},
        State.BY_HAND,
        "reno (of the route)",
    ),
    ("control", {f"{SYSCTL}/ipv4/tcp_congestion_control": "bbr\n"}, State.FINE, "bbr"),
    ("control", {f"{SYSCTL}/ipv4/tcp_congestion_control": "$(id)\n"}, State.UNREADABLE, "expected names of controls"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": QDISC.format("pfifo_fast", "0:")}, State.CHANGE, "pfifo_fast"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": QDISC.format("htb", "1:")}, State.BY_HAND, "htb, set by hand"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": QDISC.format("fq", "8001:")}, State.FINE, "fq"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": "[]"}, State.FINE, "noqueue"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": "{"}, State.UNREADABLE, "prints no JSON"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": "[" * 100_000}, State.UNREADABLE, "prints no JSON"),
    ("qdisc", {"commands/tc -j qdisc show dev eth0": '[{"root":true,"kind":7}]'}, State.UNREADABLE, "names no kind"),
    ("saved metrics", {f"{SYSCTL}/ipv4/tcp_no_ssthresh_metrics_save": None}, State.CHANGE, "ssthresh is saved"),
    ("saved metrics", {f"{SYSCTL}/ipv4/tcp_no_metrics_save": "1"}, State.FINE, "nothing is saved"),
    ("metrics of HOST", {"commands/ip tcp_metrics show": f"{AFAR} age 1sec cwnd 10\n"}, State.FINE, "nothing that limits"),
    ("MTU probing", {"sys/class/net/eth0/mtu": "1500"}, State.FINE, "0"),
    ("memory of TCP", {f"{SYSCTL}/ipv4/tcp_mem": "19008 25344 38016"}, State.CHANGE, "99 MiB"),
    (
        "memory of TCP",
        {f"{SYSCTL}/ipv4/tcp_mem": "19008 25344 38016", "proc/meminfo": "MemTotal: 1048576 kB"},
        State.UNREADABLE,
        "too little",
    ),
    ("receive ring", {"sys/class/net/eth0/statistics/rx_missed_errors": None}, State.CHANGE, "1024 of 8192"),
    ("receive ring", {"commands/ethtool -g eth0": RING.format("n/a")}, State.UNREADABLE, "tells no receive ring"),
    ("coalescing", {"commands/ethtool -c eth0": "Adaptive RX: off  TX: off\nrx-usecs: 0\n"}, State.BY_HAND, "none"),
    ("coalescing", {"commands/ethtool -c eth0": "Adaptive RX: off  TX: off\nrx-usecs: 9000\n"}, State.BY_HAND, "9000 us"),
    ("coalescing", {"commands/ethtool -c eth0": "Adaptive RX: n/a\nrx-usecs: n/a\n"}, State.UNREADABLE, "tells no rx-usecs"),
    ("offloads", {"commands/ethtool -k eth0": FEATURES.format("off [fixed]", "on")}, State.FINE, "tso off (fixed)"),
    ("pause frames", {"commands/ethtool -a eth0": None}, State.UNREADABLE, "no commands/ethtool -a eth0"),
    ("interrupts", {"sys/devices/system/node/node1/cpulist": None}, State.FINE, "one NUMA node"),
    ("interrupts", {"proc/irq/72/smp_affinity_list": "8-x"}, State.UNREADABLE, "no list of CPUs"),
    ("governor", {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "`id`"}, State.UNREADABLE, "is no governor"),
    ("IOMMU", {"sys/kernel/iommu_groups/7/type": None}, State.FINE, "none"),
    ("kernel", {"proc/sys/kernel/osrelease": "4.19.0"}, State.BY_HAND, "4.19"),
    ("kernel", {"proc/sys/kernel/osrelease": "six"}, State.UNREADABLE, "no version"),
    ("receive buffer", {f"{SYSCTL}/ipv4/tcp_rmem": "4096 131072"}, State.UNREADABLE, "expected 3 whole numbers"),
]


@pytest.mark.parametrize(("name", "files", "state", "now"), CASES, ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)])
def test_each_state_of_a_check(name: str, files: dict[str, str | None], state: State, now: str, tmp_path: Path) -> None:
    found = rows_of(record(tmp_path, DTN | files))[name].found
    assert (found.state, now in found.now) == (state, True), found
    if state in (State.CHANGE, State.BY_HAND):
        assert found.wanted
        assert found.lines


def test_a_file_that_nobody_may_write_is_for_a_person(dtn: Host) -> None:
    """A network namespace shows settings of the whole host, and lets nobody change them."""
    (dtn.root / SYSCTL / "core/rmem_max").chmod(0o444)
    rows = rows_of(dtn)
    found = rows["most by setsockopt"].found
    assert found.state is State.BY_HAND
    assert "read-only in this network namespace" in found.now
    assert "net.core.rmem_max" not in {setting.name for setting in script.settings_of(list(rows.values()))}


def test_iommu_shows_at_40_gbits(dtn: Host) -> None:
    assert rows_of(dtn, "10Gbit/s")["IOMMU"].found.state is State.FINE
    assert rows_of(dtn, "100Gbit/s")["IOMMU"].found.state is State.BY_HAND


def test_a_host_that_tells_nothing_passes_nothing_over(tmp_path: Path) -> None:
    (tmp_path / "sys/class/net/eth0").mkdir(parents=True)
    host = Host(tmp_path)
    rows = look(host, Target(read("10Gbit/s", "80ms"), route(host, None, "eth0")), CHECKS)
    assert [row.check.name for row in rows] == [check.name for check in CHECKS]
    # A host without IOMMU groups has no IOMMU.
    assert [row.check.name for row in rows if row.found.state is not State.UNREADABLE] == ["IOMMU"]
    assert all(row.found.now for row in rows)


def with_checks(page: str) -> str:
    """The page with the table of the registry."""
    rows = "".join(f"| {one.name} | {one.reads} | {one.wants} | {one.why} |\n" for one in CHECKS)
    table = f"| check | reads | wants | why |\n|---|---|---|---|\n{rows}"
    return re.sub(r"(?<=<!-- table checks -->\n).*?(?=<!-- end -->)", lambda _: table, page, flags=re.DOTALL)


def test_every_check_has_its_row() -> None:
    page = (ROOT / "docs" / "tune.md").read_text(encoding="utf-8")
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert f"from {len(CHECKS)} checks" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for check in CHECKS:
        assert all((check.reads, check.wants, check.why, check.source)), check.name
        assert check.knob in ("", *KNOBS)
    assert page == with_checks(page), "`UPDATE_PAGES=1 pytest tests/test_tune.py -k page` writes them"


# Hostile files


def _truncated(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _noise(rng: random.Random, text: bytes) -> bytes:
    return rng.randbytes(rng.choice((1, 40, 3000)))


def _flipped(rng: random.Random, text: bytes) -> bytes:
    made = bytearray(text or b"x")
    for _ in range(rng.randrange(1, 6)):
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def _numbers(rng: random.Random, text: bytes) -> bytes:
    other = rng.choice((b"-1", b"0", b"9" * 18, b"9" * 5000, b"1e9", b"\xd9\xa3", b"0x10", b""))
    return re.sub(rb"\d+", lambda found: other if rng.random() < 0.5 else found[0], text)


def _shell(rng: random.Random, text: bytes) -> bytes:
    evil = rng.choice((b"$(touch owned)", b"`touch owned`", b"'; touch owned; '", b"\n\x1b]0;owned\x07", b"../../etc/passwd", b"-j"))
    words = text.split(b'"') if rng.random() < 0.5 else text.split()
    if not words:
        return evil
    words[rng.randrange(len(words))] = evil
    return (b'"' if b'"' in text else b" ").join(words)


def _nested(rng: random.Random, text: bytes) -> bytes:
    return b"[" * 20000 + b"]" * rng.choice((0, 20000))


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_truncated, _noise, _flipped, _numbers, _shell, _nested)


def _damage(rng: random.Random, root: Path) -> None:
    for name, text in DTN.items():
        if rng.random() < 0.75:
            continue
        file = root / name
        kind = rng.randrange(12)
        if kind < 4:
            file.unlink()
        if kind == 0:
            file.mkdir()
        elif kind == 1:
            os.mkfifo(file)
        elif kind == 2:
            file.symlink_to(file.name)
        elif kind == 3:
            file.symlink_to("/dev/zero")
        else:
            file.write_bytes(rng.choice(DAMAGES)(rng, text.encode()))


SAFE = re.compile(r"[\w .,-]*", re.ASCII)


@pytest.mark.parametrize("seed", range(60))
def test_hostile_files_break_nothing_and_run_nothing(seed: int, tmp_path: Path) -> None:
    """Whatever a tree holds, each check has an outcome, and no word of it becomes code."""
    rng = random.Random(seed)
    host = record(tmp_path / "host", dict(DTN))
    _damage(rng, host.root)
    try:
        way = route(host, AFAR)
    except LongfatError:
        way = Route("eth0", AFAR)
    target = Target(read("10Gbit/s", "80ms", mtu=9000), way)
    rows = look(host, target, CHECKS)
    assert len(rows) == len(CHECKS)
    settings = script.settings_of(rows)
    for setting in settings:
        assert SAFE.fullmatch(setting.value), setting
        assert "owned" not in setting.read + setting.write + setting.line.text
    for text in (script.apply_text(settings, "title\n$(id)"), script.revert_text(settings, "title")):
        assert subprocess.run(["sh", "-n"], input=text, text=True, check=False, capture_output=True).stderr == ""
    shown = io.StringIO()
    show.print_rows(terminal.Terminal(file=shown, width=80, highlight=False), target, rows, None, [], why=True)
    assert not CONTROL.search(shown.getvalue())
    assert json.loads(json.dumps(show.as_json(target, rows, None, [])))["checks"]


@pytest.mark.parametrize("name", ["", "..", "eth0/..", "-j", "eth 0", "e" * 16, "$(id)", "eth0\n", 7, None])
def test_a_device_that_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(UnreadableError, match="is no name of an interface"):
        device_name(name)


def test_cpus_are_read_as_cpuset_writes_them() -> None:
    assert cpus("0-3,8\n") == {0, 1, 2, 3, 8}
    assert cpus("\n") == set()
    assert cpus("7-3") == set()
    with pytest.raises(UnreadableError):
        cpus("0-99999999999")


# Scripts


def test_values_and_names_are_quoted(tmp_path: Path) -> None:
    """A setting with hostile words writes them, and runs none."""
    evil = "$(touch owned) 'x' \"y\" `id`"
    file = tmp_path / "a'b $(touch owned)"
    file.write_text("before\n", encoding="utf-8")
    setting = of_file(evil, str(file), evil, Line("", "", ""))
    folder = tmp_path / "scripts"
    script.write(folder, [setting], "a title\nwith `lines`")
    done = _as_root("true", cwd=tmp_path, inside="scripts/apply.sh; cat a* >then; scripts/revert.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "then").read_text(encoding="utf-8") == f"{evil}\n"
    assert file.read_text(encoding="utf-8") == "before\n"
    assert (folder / "apply.sh").read_text(encoding="utf-8").splitlines()[1] == "# a title with `lines`"
    assert not list(tmp_path.rglob("owned"))


NAMESPACES = (
    shutil.which("unshare") is not None and subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False).returncode == 0
)


def _as_root(*words: object, cwd: Path, inside: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a script as root of a user and network namespace of its own, after `inside`."""
    if not NAMESPACES:
        pytest.skip("no user namespaces here")
    text = f'{inside}\nexec "$@"'
    call = ["unshare", "-Urn", "sh", "-c", text, "sh", *map(str, words)]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


NAMES = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_mtu_probing")
VALUES = ("4096 131072 70000000", "4096 16384 60000000", "0", "1")


def test_apply_and_revert_may_be_run_again(tmp_path: Path) -> None:
    """In a network namespace: twice applied, what was there is back after one revert; a second has nothing to do."""
    settings = [of_sysctl(name, value, "", "") for name, value in zip(NAMES, VALUES, strict=True)]
    script.write(tmp_path / "s", settings, "a path")
    show_all = " ".join(f"/proc/sys/{name.replace('.', '/')}" for name in NAMES)
    steps = f"""
        cat {show_all} >first
        for turn in 1 2; do s/apply.sh >applied$turn || exit 1; cat {show_all} >then$turn; done
        s/revert.sh >reverted || exit 2
        cat {show_all} >last
        s/revert.sh >again || exit 3
    """
    done = _as_root("true", cwd=tmp_path, inside=steps)
    assert (done.returncode, done.stderr) == (0, "")
    said = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("first", "then1", "then2", "last", "applied1", "again")}
    assert [line.split() for line in said["then1"].splitlines()] == [value.split() for value in VALUES]
    assert said["then2"] == said["then1"]
    assert said["last"] == said["first"] != said["then1"]
    assert said["applied1"].splitlines() == [f"{name}: {value}" for name, value in zip(NAMES, VALUES, strict=True)]
    assert said["again"] == "nothing to revert\n"
    assert not (tmp_path / "s" / "before").exists()


def test_another_namespace_or_boot_has_nothing_to_revert(tmp_path: Path) -> None:
    script.write(tmp_path / "s", [of_sysctl(NAMES[3], "1", "", "")], "a path")
    assert _as_root(tmp_path / "s" / "apply.sh", cwd=tmp_path).returncode == 0
    assert not script.in_force(tmp_path / "s")
    done = _as_root(tmp_path / "s" / "revert.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "rebooted, or in another network namespace, since apply.sh ran")


def test_a_value_that_the_kernel_refuses_is_said_and_the_rest_is_done(tmp_path: Path) -> None:
    wrong = of_sysctl("net.ipv4.tcp_congestion_control", "nosuch", "", "")
    gone = of_sysctl("net.ipv4.tcp_no_such_setting", "1", "", "")
    script.write(tmp_path / "s", [wrong, gone, of_sysctl(NAMES[3], "1", "", "")], "a path")
    done = _as_root(tmp_path / "s" / "apply.sh", cwd=tmp_path)
    assert done.returncode == 1
    assert "net.ipv4.tcp_congestion_control: not changed to nosuch" in done.stderr
    assert "net.ipv4.tcp_no_such_setting: cannot be read, left alone" in done.stderr
    assert done.stdout == "net.ipv4.tcp_mtu_probing: 1\n"


def test_a_qdisc_is_changed_and_given_back_unless_somebody_set_it(tmp_path: Path) -> None:
    """A device with four transmit queues in a namespace: `mq`, which a kernel always has, and back to the default."""
    host = record(tmp_path / "host", DTN | {"commands/tc -j qdisc show dev eth0": MQ})
    [setting] = [one for one in rows_of(host)["qdisc"].found.settings if one.name == "eth0: qdisc"]
    script.write(tmp_path / "s", [setting], "a path")
    steps = """
        ip link add eth0 numtxqueues 4 type ifb && ip link set eth0 up || exit 9
        tc qdisc show dev eth0 >first
        s/apply.sh >applied && s/apply.sh || exit 1
        tc qdisc show dev eth0 root >then
        s/revert.sh >reverted || exit 2
        tc qdisc show dev eth0 >last
        tc qdisc add dev eth0 root handle 1: htb || exit 8
        s/apply.sh 2>refused && exit 3
        tc qdisc show dev eth0 root >htb
    """
    done = _as_root("true", cwd=tmp_path, inside=steps)
    if done.returncode in (8, 9):
        pytest.skip(f"this kernel has no ifb or htb: {done.stderr}")
    assert done.returncode == 0, done.stderr
    said = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("first", "then", "last", "refused", "htb")}
    assert re.match(r"qdisc mq (?!0:)", said["then"])
    assert said["last"] == said["first"]
    assert "eth0: qdisc: not changed to mq" in said["refused"]
    assert "htb 1:" in said["htb"]


def test_scripts_do_not_replace_those_whose_changes_are_in_force(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    (before / "since").write_text(f"{boot} {Path('/proc/self/ns/net').readlink()}\n", encoding="utf-8")
    with pytest.raises(LongfatError, match=r"revert\.sh first"):
        script.write(tmp_path, [], "a path")


def test_changes_need_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LongfatError, match="--revert changes this host and needs root"):
        script.run(tmp_path, "revert.sh")
    with pytest.raises(LongfatError, match="--apply changes this host and needs root"):
        script.check_root("apply")


# Gains


def test_gains_are_those_of_the_window(tmp_path: Path) -> None:
    """A send buffer of 128 KiB over 40 ms: two thirds to all of it per round trip. With room, the path is full."""
    small = DTN | {f"{SYSCTL}/ipv4/tcp_wmem": "4096 16384 131072", f"{SYSCTL}/ipv4/tcp_rmem": "4096 131072 33554432"}
    host = record(tmp_path, small)
    rows = rows_of(host, "50Mbit/s", "40ms")
    found = simulate(read("50Mbit/s", "40ms"), list(rows.values()), lambda share: None)
    gain = found.gains["send buffer"]
    assert 2 / 3 * 131072 * 8 / 0.04 < gain.without < 131072 * 8 / 0.04
    assert gain.with_ > 0.9 * 50e6
    assert gain.relative > 0.9
    assert set(found.gains) == {"send buffer", "control", "qdisc", "idle restart"}
    [together] = found.together
    assert together.sends
    # The run without the line has all others, the run without any has none: both have the small buffer.
    assert together.without == pytest.approx(gain.without, rel=0.05)


def test_gains_of_a_path_that_loses_have_an_interval(dtn: Host) -> None:
    question = read("10Mbit/s", "20ms", loss="1e-3")
    rows = [row for row in rows_of(dtn, "10Mbit/s", "20ms").values() if row.check.knob in ("control", "qdisc")]
    found = simulate(question, rows, lambda share: None)
    assert found.gains["control"].half > 0
    assert any("± half of the 95 % interval" in sentence for sentence in found.told)


def test_a_control_has_no_gain_where_a_run_holds_no_period(dtn: Host) -> None:
    """2 Mbit/s over 400 ms: from loss to loss Reno takes half a minute. At 200 Mbit/s it takes 46 minutes."""
    rows = [row for row in rows_of(dtn).values() if row.check.knob == "control"]
    assert set(simulate(read("2Mbit/s", "400ms"), rows, lambda share: None).gains) == {"control"}
    found = simulate(read("200Mbit/s", "400ms"), rows, lambda share: None)
    assert not found.gains
    assert "Control: no gain, since Reno takes" in found.told[-1]


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(1e6, 3.43e6, 0.0, sends=True), "3.43 times"),
        (Gain(1e6, 1.005e6, 0.0, sends=True), "+0.5 %"),
        (Gain(1e6, 1e6, 0.0, sends=True), "0 %"),
        (Gain(1e6, 0.9999e6, 0.0, sends=True), "0 %"),
        (Gain(1e6, 1.67e6, 0.0, sends=True), "+67 %"),
        (Gain(1e6, 0.9e6, 0.02, sends=True), "-10 % ± 2"),
        (Gain(0.0, 1e6, 0.0, sends=True), "inf times"),
    ],
)
def test_gains_are_said_in_words(gain: Gain, text: str) -> None:
    assert show.said(gain) == text


# The path


def _way(direction: str, goodput: float, limit: str, rtt: float = 0.08) -> Way:
    return Way(
        direction=direction,
        goodput_bps=goodput,
        rtt_idle_s=rtt,
        rtt_loaded_s=rtt,
        queue_delay_up_idle_p95_s=0.0,
        queue_delay_up_p95_s=0.0,
        queue_delay_down_idle_p95_s=0.0,
        queue_delay_down_p95_s=0.0,
        one_way_delay_most_s=rtt,
        loaded_rtt_per_minute=60 / rtt,
        retransmission_rate=0.0,
        limited_by=limit,
        limited_by_confidence=0.95,
        limited_by_at_sender="",
        limited_by_at_sender_confidence=math.nan,
        limited_by_at_receiver="",
        limited_by_at_receiver_confidence=math.nan,
        window_bytes=0,
        verdict="valid",
        reasons=(),
        not_captured=(),
        tcp_efficiency=1.0,
        buffer_delay=0.0,
        transfer_time_ratio=1.0,
    )


def _asked(monkeypatch: pytest.MonkeyPatch, up: Way, down: Way, way: Route, burst: Direction | None = None, **typed: Any):
    def facts(one: Way) -> Facts:
        return replace(FILLED, cause=one.limited_by, is_held=one.limited_by == BUFFER, rates_bps=[one.goodput_bps] * 9)

    def measure(host: str, key: str | None, seconds: float, **asked: Any) -> verb.Measured:
        survey = surveyed(burst, burst) if asked["burst"] and burst else None
        return verb.Measured({"up": up, "down": down}, {"up": facts(up), "down": facts(down)}, survey, "" if survey else "no UDP")

    monkeypatch.setattr(verb, "_measure", measure)
    return verb._question("dtn", None, None, way, None, 2, **{"buffer": None, "loss": None, **typed})


def test_the_simulated_path_has_the_buffer_and_the_loss_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    route, slow = Route("eth0", AFAR, mtu=1500, speed=10e9), _way("down", 100e6, FULL)
    found = bursted(rate_bps=Estimate(500e6, 499e6, 501e6))
    # A flow that filled the path: the 40 ms that 99 of 100 probes waited, at its rate.
    question, told = _asked(monkeypatch, _way("up", 400e6, FULL), slow, route, predicted=True)
    assert question.buffers == (f"{0.04 * 400e6 * 1500 / 1448 / 8:.0f} bytes",)
    assert "by waits of probes while a flow filled it" in told[-2]
    assert told[-1] == "Loss: none but at a full queue or a policer was seen."
    assert question.losses is None
    # A host limited it: the burst tells rate and buffer.
    question, told = _asked(monkeypatch, _way("up", 400e6, BUFFER), slow, route, found, predicted=True)
    assert (question.rate, question.buffers) == (500e6, ("90000 bytes",))
    assert "the 500 Mbit/s of a burst are taken" in told[2]
    # Losses at random are simulated, and hide the buffer.
    question, told = _asked(monkeypatch, _way("up", 400e6, "random loss"), slow, route, found, predicted=True)
    assert question.buffers is None
    assert question.losses == (("", FILLED.loss),)
    assert told[-2].startswith("Buffer: not found (it was not seen full, or other losses hide its own)")
    # What is typed is taken; without --simulate nothing is looked for.
    question, told = _asked(monkeypatch, _way("up", 400e6, "random loss"), slow, route, found, predicted=True, buffer="2MB", loss="0")
    assert (question.buffers, question.losses) == (("2MB",), (("", 0.0),))
    assert not any(one.startswith(("Buffer", "Loss")) for one in told)
    question, told = _asked(monkeypatch, _way("up", 400e6, FULL), slow, route)
    assert (question.buffers, len(told)) == (None, 2)


def test_a_measured_rate_is_that_of_the_path_where_the_network_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    question, told = _asked(
        monkeypatch, _way("up", 900e6, FULL), _way("down", 800e6, FULL, 0.079), Route("eth0", AFAR, mtu=1500, speed=10e9)
    )
    assert question.rate == pytest.approx(900e6 * 1500 / 1448, rel=1e-6)
    assert question.rtt == pytest.approx(0.079)
    assert question.edge == 10e9
    assert len(told) == 2


def test_a_flow_that_a_buffer_limits_does_not_tell_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = _way("down", 100e6, FULL), _way("up", 400e6, BUFFER)
    question, told = _asked(monkeypatch, fast, slow, Route("eth0", AFAR, mtu=1500, speed=10e9))
    assert question.rate == 10e9
    assert "A host is the limit there, so the 10 Gbit/s of eth0 are taken" in told[-1]
    question, told = _asked(monkeypatch, fast, slow, Route("eth0", AFAR, mtu=1500))
    assert question.rate == pytest.approx(400e6 * 1500 / 1448, rel=1e-6)
    assert "the path may carry more" in told[-1]


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("127.0.0.1:7000", "127.0.0.1"), ("[::1]:7000", "::1"), ("::1", "::1")]
)
def test_hosts_are_written_as_for_measure(host: str, address: str) -> None:
    assert address_of(host) == address


def test_a_host_without_address_is_one_error() -> None:
    with pytest.raises(LongfatError, match="no address is known for it"):
        address_of("no such host")


# Before and after


def test_before_and_after_are_compared_in_turn(tmp_path: Path) -> None:
    state, order = {"name": "revert.sh"}, list[str]()
    rng = random.Random(3)

    def set_up(folder: Path, name: str) -> bool:
        state["name"] = name
        order.append(name)
        return True

    def measure() -> dict[str, float]:
        drift = 1e8 * rng.uniform(0.9, 1.1)
        return {"up": drift * (2 if state["name"] == "apply.sh" else 1), "down": drift}

    up, down = compare.compare(tmp_path, measure, set_up, pairs=8)
    ratio, low, high = up.ratio
    assert low < 2 < high
    assert ratio == pytest.approx(2, rel=0.2)
    assert "faster" in compare.lines([up])[0]
    assert "no difference is shown" in compare.lines([down])[0]
    assert all(set(order[pair : pair + 2]) == {"apply.sh", "revert.sh"} for pair in range(0, 16, 2))
    assert len({tuple(order[pair : pair + 2]) for pair in range(0, 16, 2)}) == 2
    assert order[-1] == "revert.sh"


def test_a_failed_measurement_leaves_the_host_as_before(tmp_path: Path) -> None:
    order: list[str] = []

    def broken() -> dict[str, float]:
        raise LongfatError("the server is gone")

    with pytest.raises(LongfatError, match="gone"):
        compare.compare(tmp_path, broken, lambda folder, name: order.append(name) is None)
    assert order[-1] == "revert.sh"


# The command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "1Gbit/s"], "expected --rtt 80ms, or the HOST"),
        (["--rtt", "fast", "--rate", "1Gbit/s"], "expected a time such as 150ms"),
        (["--rtt", "1ms,2ms", "--rate", "1Gbit/s"], "expected one round trip"),
        (["--rtt", "1ms", "--rate", "1Gbit/s", "--buffer", "1MiB,2MiB"], "expected one value each"),
        (["--rtt", "1ms", "--rate", "1Gbit/s", "--device", "nosuch0"], "there is no such interface"),
        (["--rtt", "1ms", "--rate", "1Gbit/s", "--root", "nosuch"], "expected a folder that holds proc and sys"),
        (["--apply", "--revert"], "expected one of them"),
        (["--apply", "--root", "."], "expected neither --apply, --revert nor --compare"),
        (["--compare"], "longfat tune HOST --compare"),
    ],
)
def test_a_mistake_is_one_message(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = command("tune", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert done.stderr.startswith("error: ")


@pytest.mark.slow
def test_the_command_prints_json_and_writes_scripts(dtn: Host, tmp_path: Path) -> None:
    done = command("tune", "--rtt", "80ms", "--root", dtn.root, "--json", "--script", tmp_path / "s")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Without --rate it is the speed of the device.
    assert found["path"]["rate_bps"] == 25e9
    assert {check["check"] for check in found["checks"]} == {check.name for check in CHECKS}
    assert os.access(tmp_path / "s" / "apply.sh", os.X_OK)


@pytest.mark.slow
def test_this_host_is_read() -> None:
    done = command("tune", "--device", "lo", "--rtt", "1ms", "--rate", "1Gbit/s", "--json")
    assert done.returncode == 0, done.stderr
    states = {check["check"]: check["state"] for check in json.loads(done.stdout)["checks"]}
    assert states["receive buffer"] in ("fine", "change")
    assert states["kernel"] in ("fine", "by hand")


BLOCK = re.compile(r"^```console\n\$ longfat (tune [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = ROOT / "docs" / "tune.md"


@pytest.mark.slow
def test_the_page_shows_what_is_printed(dtn: Host) -> None:
    """`UPDATE_PAGES=1 pytest tests/test_tune.py -k page` writes it."""
    text = PAGE.read_text(encoding="utf-8")

    def block(found: re.Match[str]) -> str:
        done = command(*found[1].split(), "--root", dtn.root, env={"COLUMNS": "80", "PATH": os.environ["PATH"], "NO_COLOR": "1"})
        assert done.returncode == 0, done.stderr
        lines = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
        assert max(map(len, lines.splitlines())) <= 80 or "--why" in found[1]
        return f"```console\n$ longfat {found[1]}\n{lines}```"

    now = with_checks(BLOCK.sub(block, text))
    if os.environ.get("UPDATE_PAGES"):
        PAGE.write_text(now, encoding="utf-8")
    else:
        assert text == now


def test_a_setting_without_a_value_to_give_back_is_not_reverted() -> None:
    setting = Setting("metrics", "deleted", "", "true", Line("", "", ""))
    assert "change 1" not in script.apply_text([setting], "t")
    assert "write_1 deleted || failed=1" in script.apply_text([setting], "t")
    assert "back 1" not in script.revert_text([setting], "t")
