"""The testbed where it is permitted; what it says where it is not.

Its emulator goes by the clock: each test that runs it is alone.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import longfat
import longfat.capture
import numpy as np
import pandas as pd
import pytest
from longfat._longfat import HAS_BPF, cc_list
from longfat.cli.testbed import permitted
from longfat.gym import Policy, control

PERMITTED = permitted()
USER_NAMESPACES = (
    shutil.which("unshare") is not None and subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False).returncode == 0
)
needs_rights = pytest.mark.skipif(not PERMITTED, reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")

FILE = """
title = "small"
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
stack = "linux"
[measure]
duration = "2 s"
interval = "100 ms"
"""


KNOCK = """
import os, socket, time
for _ in range(3):
    start = time.monotonic()
    try:
        socket.create_connection((os.environ["LONGFAT_ADDRESS_right1"], 9), timeout=5)
    except ConnectionRefusedError:
        print(time.monotonic() - start)
"""


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "longfat", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def left_behind() -> dict[str, str]:
    """Devices, settings and qdiscs of this machine. (Our namespaces have no names: they are gone with the process, and what is in them.)"""
    found = {f"device {one.name}": "" for one in Path("/sys/class/net").iterdir()}
    for file in Path("/proc/sys/net").rglob("*"):
        # Flushed by writing, and counters of the machine.
        if file.is_file() and os.access(file, os.R_OK) and "stat" not in file.name and "count" not in file.name:
            with contextlib.suppress(OSError):
                found[str(file)] = file.read_text(errors="replace")
    found["qdiscs"] = subprocess.run(["tc", "qdisc", "show"], capture_output=True, text=True, check=False).stdout
    return found


@pytest.mark.alone
@needs_rights
@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_a_twin_is_given_to_the_kernel(tmp_path: Path) -> None:
    """With the parameters of the experiment, as long as the run lasts."""
    experiment = longfat.Experiment('backend = "testbed"\n' + FILE)
    experiment["flow.congestion_control"] = {"kind": "scalable", "b": 0.25}
    experiment["flow.twin"] = True
    result = experiment.run()
    assert result.control_from == "twin"
    assert list(result.flows["control_from"]) == ["twin"]
    assert result.flows["goodput_bps"].iloc[0] > 15e6
    assert ("lf_scalable", "loaded") not in cc_list()
    # The kernel has one control of a name.
    twice = longfat.Experiment('backend = "testbed"\n' + FILE + '\n[[flow]]\nname = "b"\nstack = "linux"\n')
    twice["flow[0].congestion_control"] = {"kind": "scalable", "b": 0.25}
    twice["flow[1].congestion_control"] = "scalable"
    twice["flow[0].twin"] = twice["flow[1].twin"] = True
    with pytest.raises(longfat.ExperimentError, match="two sets of parameters of scalable"):
        twice.run()


@pytest.mark.alone
@needs_rights
@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_one_run_says_of_each_flow_whose_control_it_had(tmp_path: Path) -> None:
    other = '[[flow]]\nname = "b"\nstack = "linux"\ncongestion_control = "htcp"\ntwin = true\n[measure]'
    (tmp_path / "both.toml").write_text('backend = "testbed"\n' + FILE.replace("[measure]", other))
    done = command("run", "both.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = longfat.load_results(tmp_path / "results" / "both")
    assert dict(zip(results.flows["congestion_control"], results.flows["control_from"], strict=True)) == {"cubic": "kernel", "htcp": "twin"}
    assert "kernel, twin" in command("show", "both", cwd=tmp_path).stdout


def policy(action: str, decide: str = "rtt", **values: float) -> Policy:
    """A policy that always acts as 0 does, whatever it observes."""
    fields = ["cwnd", "rtt_ratio", "reductions"]
    return Policy([(np.zeros((4, 1)), np.zeros(1))], fields, {"name": action, **values}, decide)


@pytest.mark.alone
@needs_rights
@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
@pytest.mark.parametrize(("segments", "decide"), [(20, "rtt"), (80, "5 ms")])
def test_a_policy_steers_the_kernel(segments: int, decide: str) -> None:
    """One file for both backends. Path and queue hold 35 segments each: 20 fit, and 80 overflow it. The window holds in recovery."""
    control("holds_on_testbed", policy("cwnd", decide, least=segments, most=segments))
    experiment = longfat.Experiment('backend = { sweep = ["sim", "testbed"] }\n' + FILE)
    experiment["flow.congestion_control"] = "holds_on_testbed"
    simulated, kernel = experiment.sweep()
    assert (simulated.control_from, kernel.control_from) == (None, "policy")
    for result in (simulated, kernel):
        series = result.flow_series
        windows = set(series["cwnd_bytes"][series["time_s"] > 1.0])
        assert windows == {segments * 1448}, result.labels
        assert bool(result.flows["segments_retransmitted"].iloc[0] > 0) is (segments == 80), result.labels
    assert "lf_agent" not in [name for name, _ in cc_list()]


@pytest.mark.alone
@needs_rights
@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_a_policy_paces_the_kernel_and_sees_it_go_slow() -> None:
    """A rate of 2 Mbit/s on a path of 20: a sender that cannot be faster, whatever else runs on this machine."""
    control("paces_on_testbed", policy("pacing_rate", least=2e6, most=2e6))
    experiment = longfat.Experiment('backend = "testbed"\n' + FILE)
    experiment["flow.congestion_control"] = "paces_on_testbed"
    result = experiment.run()
    assert 0.5e6 < result.flows["goodput_bps"].iloc[0] < 2.2e6


@needs_rights
def test_what_no_policy_of_the_testbed_can_do_is_said_before_the_run() -> None:
    control("acks_on_testbed", policy("cwnd_factor", "ack"))
    experiment = longfat.Experiment('backend = "testbed"\n' + FILE)
    experiment["flow.congestion_control"] = "acks_on_testbed"
    with pytest.raises(longfat.LongfatError, match=r"a decision at each ACK \(acks_on_testbed\)"):
        experiment.run()

    @longfat.congestion_control(name="no_policy")
    class _NoPolicy:
        def on_ack(self, ack: object) -> None: ...
        def on_congestion(self, event: object) -> None: ...

    with pytest.raises(longfat.LongfatError, match="there is no program of it for the kernel"):
        experiment["flow.congestion_control"] = "no_policy"


@pytest.mark.slow
@needs_rights
def test_a_twin_that_there_is_not_is_said_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text('backend = "testbed"\n' + FILE.replace('"linux"\n', '"linux"\ntwin = { sweep = [false, true] }\n'))
    done = command("run", "two.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "`flow.twin`" in done.stderr
    assert "a twin of cubic" in done.stderr


@pytest.mark.alone
@needs_rights
def test_an_experiment_runs_by_both_backends_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text('backend = { sweep = ["sim", "testbed"] }\n' + FILE)
    before = left_behind()
    done = command("run", "small.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = longfat.load_results(tmp_path / "results" / "small")
    runs = results.runs.set_index("backend")
    assert runs.loc["testbed", "verdict"] in ("valid", "suspect", "invalid")
    assert runs.loc["testbed", "control_from"] == "kernel"
    assert pd.isna(runs.loc["sim", "control_from"])
    assert "control from" in command("show", "small", cwd=tmp_path).stdout
    assert left_behind() == before
    if runs.loc["testbed", "verdict"] != "invalid":
        rates = runs["goodput_total_bps"]
        assert rates["testbed"] == pytest.approx(rates["sim"], rel=0.1)
    side_by_side = command("compare", "small", "--backends", "--figures", "figures", cwd=tmp_path)
    assert side_by_side.returncode == 0, side_by_side.stderr
    assert "goodput within 5 % in" in side_by_side.stdout
    assert (tmp_path / "figures" / "small-cwnd.svg").exists()
    real = next(result for result in results if result.provenance["backend"] == "testbed")
    assert real.provenance["longfat"]["kernel"] == os.uname().release
    assert real.real_time["handed_over"] > 1000
    assert list(real.flow_series["time_s"])[:3] == [0.0, 0.1, 0.2]


@pytest.mark.alone
@needs_rights
@pytest.mark.parametrize("window", ["32 KiB", "64 KiB", "128 KiB"])
def test_a_window_holds_at_its_value(window: str) -> None:
    """Also after the kernel has reckoned it anew from the buffer, which it does when the first segments have come."""
    wide = FILE.replace("20 ms", "40 ms").replace("20 Mbit/s", "100 Mbit/s")
    experiment = longfat.Experiment('backend = { sweep = ["sim", "testbed"] }\n' + wide)
    experiment["flow.window"] = window
    simulated, real = experiment.sweep()
    assert "and its window is" not in str(real.warnings)
    if real.verdict == "invalid":
        pytest.skip("the machine was busy")
    # A window without a scale is advertised in whole segments.
    asked = 1024 * float(window.split()[0])
    assert asked - 1448 < real.flow_series["rwnd_bytes"].iloc[-1] <= asked
    assert real.flows["goodput_bps"].iloc[0] == pytest.approx(simulated.flows["goodput_bps"].iloc[0], rel=0.05)


@pytest.mark.alone
@needs_rights
def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(FILE + "acks = true\n")
    before, draw = left_behind(), random.Random(1)
    for _ in range(int(os.environ.get("LONGFAT_KILLS", "3"))):
        started = subprocess.Popen(
            [sys.executable, "-m", "longfat", "run", "small.toml", "--backend", "testbed"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.3, 2.0))
        started.send_signal(signal.SIGKILL)
        started.wait()
    # The kernel takes namespaces apart on a thread of its own.
    deadline = time.monotonic() + 5
    while left_behind() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_behind() == before
    # The tracer is put back by the next start.
    done = command("testbed", "shell", "small.toml", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not Path("/run/longfat/tracer").exists()


def orphans() -> int:
    """Connections of this machine that no process has any more, and which the kernel goes on with."""
    return int(Path("/proc/net/sockstat").read_text().split("orphan ")[1].split()[0])


@pytest.mark.alone
@needs_rights
def test_a_run_leaves_no_connection_behind_that_goes_on_sending() -> None:
    """Unsent data of its socket takes memory for minutes, and the kernel then lets no window of the next runs grow."""
    before = orphans()
    result = longfat.Experiment('backend = "testbed"\n' + FILE).run()
    deadline = time.monotonic() + 10
    while orphans() > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert orphans() <= before
    assert result.real_time["tcp_memory_pressure_bytes"] > 0


@pytest.mark.alone
@needs_rights
def test_the_memory_of_all_connections_is_watched() -> None:
    """Each CPU keeps up to a MB to itself that the kernel's count is without: there must be more than that under way."""
    experiment = longfat.Experiment('backend = "testbed"\n' + FILE)
    for key, value in {
        "path.bottleneck.rate": "100 Mbit/s",
        "path.rtt": "200 ms",
        "flow[0].window": "16 MiB",
        "measure.duration": "4 s",
    }.items():
        experiment[key] = value
    assert experiment.run().real_time["tcp_memory_max_bytes"] > 1 << 20


@pytest.mark.alone
@needs_rights
def test_each_ack_is_seen_on_both_sides() -> None:
    """Slow start, before anything is lost: what the kernel's tracepoint says is what the simulator says, ACK by ACK."""
    experiment = longfat.Experiment('backend = { sweep = ["sim", "testbed"] }\n' + FILE + "acks = true\n")
    simulated, real = experiment.sweep()
    if not os.access("/sys/kernel/tracing", os.F_OK):
        pytest.skip("this kernel has no tracefs")
    for one in (simulated, real):
        acks = one.acks
        assert acks["time_s"].is_monotonic_increasing
        assert acks["acked_bytes"].is_monotonic_increasing
        assert (acks["acked_bytes"] <= acks["sent_bytes"]).all()
        assert acks["acked_bytes"].iloc[0] == 0
        assert acks["acked_bytes"].iloc[-1] == pytest.approx(one.flows["bytes_delivered"].iloc[0], rel=0.05)
    columns = ["acked_bytes", "sent_bytes", "cwnd_bytes"]
    if real.verdict != "invalid":
        assert real.acks[columns].head(10).to_numpy().tolist() == simulated.acks[columns].head(10).to_numpy().tolist()


@pytest.mark.alone
@needs_rights
def test_packets_of_the_kernel_are_recorded_and_captured(tmp_path: Path) -> None:
    """Fates of packets add up, and a capture made of them tells what a capture of the simulated run tells."""
    sweep = 'backend = { sweep = ["sim", "testbed"] }\n'
    probe = '[[flow]]\nname = "probe"\ntraffic = { kind = "ping", interval = "50 ms" }\n'
    (tmp_path / "small.toml").write_text(sweep + FILE.replace("[measure]", probe + "[measure]") + 'packets = "all"\n')
    done = command("run", "small.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = longfat.load_results(tmp_path / "results" / "small")
    rates: dict[str, float] = {}
    for run, backend in results.runs[["run", "backend"]].itertuples(index=False):
        packets = results.packets[results.packets["run"] == run]
        counts = packets.groupby(["flow", "event"]).size().unstack(fill_value=0)
        ended = counts["delivered"] + counts.get("dropped_overflow", 0)
        # At the end some are on their way: at most a path and a queue full.
        assert (counts["sent"] >= ended).all()
        assert (counts["sent"] - ended <= 100).all()
        # Three links each way; the last packets have not come to all.
        assert ((counts["queued"] - 3 * ended).abs() <= 300).all()
        forward = packets[(packets["flow"] == 0) & (packets["direction"] == "forward") & (packets["event"] == "sent")]
        assert forward["flags"].iloc[0] == "S"
        assert forward["mss_bytes"].iloc[0] == 1460
        # Whatever the kernel's initial sequence number: bytes begin at 0, and none is left out.
        data = forward[forward["len_bytes"] > 0]
        ends = (data["seq_bytes"] + data["len_bytes"]).cummax()
        assert data["seq_bytes"].iloc[0] == 0
        assert (data["seq_bytes"].iloc[1:].to_numpy() <= ends.iloc[:-1].to_numpy()).all()
        pings = packets[(packets["flow"] == 1) & (packets["direction"] == "back") & (packets["event"] == "delivered")]
        assert pings["seq_bytes"].tolist() == list(range(pings["seq_bytes"].iloc[0], pings["seq_bytes"].iloc[0] + len(pings)))
        out = f"{backend}.pcapng"
        written = command("capture", "small", "--at", "left1", "--run", run, "--out", out, cwd=tmp_path)
        assert written.returncode == 0, written.stderr
        (connection,) = longfat.capture.read(tmp_path / out).connections
        rates[backend] = connection.bottleneck.rate_bps
    assert rates["testbed"] == pytest.approx(20e6, rel=0.05)
    assert rates["testbed"] == pytest.approx(rates["sim"], rel=0.05)


@pytest.mark.alone
@needs_rights
def test_any_program_crosses_the_path(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(FILE)
    # Nobody listens there: each SYN is refused, one round trip later.
    done = command("testbed", "shell", "small.toml", "--", sys.executable, "-c", KNOCK, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    best = min(float(took) for took in done.stdout.split())
    assert 0.020 <= best < 0.025, done.stdout
    assert "bottleneck>: 3 packets in, 3 delivered" in done.stderr
    assert "bottleneck<: 3 packets in, 3 delivered" in done.stderr
    assert command("testbed", "shell", "small.toml", "--", "sh", "-c", "exit 3", cwd=tmp_path).returncode == 3


@pytest.mark.alone
@needs_rights
@pytest.mark.skipif(not USER_NAMESPACES, reason="no user namespaces here")
def test_a_user_namespace_is_enough_without_a_real_time_priority(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(FILE)
    alone = ["unshare", "-Urn", sys.executable, "-m", "longfat"]
    checked = subprocess.run([*alone, "testbed", "check", "--quick"], capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "verdicts tell what that costs" in checked.stdout
    run = [*alone, "run", "small.toml", "--backend", "testbed"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert longfat.load_results(tmp_path / "results" / "small+backend=testbed")[0].real_time["handed_over"] > 1000
    # The tracer is not the user's.
    probed = subprocess.run([*run, "--set", "measure.acks=true"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert probed.returncode == 1
    assert "tcp_probe (tracefs), which cannot be used" in probed.stderr


@pytest.mark.alone
@needs_rights
@pytest.mark.parametrize("before", ["mount -t tracefs tracefs /sys/kernel/tracing", ":"], ids=["mounted already", "not mounted"])
def test_acks_are_recorded_wherever_the_tracer_is(tmp_path: Path, before: str) -> None:
    (tmp_path / "small.toml").write_text(FILE.replace('"2 s"', '"0.3 s"') + "acks = true\n")
    # In a space of mounts of its own, so that this machine's stays as it is.
    script = f"umount -l /sys/kernel/tracing 2>/dev/null; {before} && exec {sys.executable} -m longfat run small.toml --backend testbed"
    run = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(longfat.load_results(tmp_path / "results" / "small+backend=testbed")[0].acks) > 10


@pytest.mark.alone
@needs_rights
def test_two_testbeds_at_once_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(FILE)
    shell = [sys.executable, "-m", "longfat", "testbed", "shell", "small.toml", "--", "sh", "-c", "echo there; read line"]
    with subprocess.Popen(shell, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "there\n"
        done = command("testbed", "shell", "small.toml", "--", "true", cwd=tmp_path)
        assert done.returncode == 1
        assert f"another testbed is running (process {first.pid})" in done.stderr
        first.stdin.close()


@pytest.mark.slow
def test_what_the_kernel_cannot_be_told_is_refused_before_anything_starts(tmp_path: Path) -> None:
    for change, said in [
        ('congestion_control = "bbr3"', "this congestion control"),
        ('recovery = "tahoe"', "another recovery than Linux has"),
        ('stack = "bsd-reno-1994"', "testbed"),
        ("prr = false", "`prr` otherwise than Linux has it"),
    ]:
        text = FILE.replace('stack = "linux"', change)
        (tmp_path / "asks.toml").write_text(text)
        done = command("run", "asks.toml", "--backend", "testbed", cwd=tmp_path)
        assert done.returncode == 1
        assert said in done.stderr, done.stderr
        assert "asks.toml" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(PERMITTED, reason="the testbed is permitted here")
def test_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(FILE)
    done = command("run", "small.toml", "--backend", "testbed", cwd=tmp_path)
    assert done.returncode == 1
    assert "the testbed needs rights" in done.stderr


@pytest.mark.slow
def test_what_cannot_be_run_is_said_before_anything_is(tmp_path: Path) -> None:
    without = ["setpriv", "--bounding-set", "-net_admin"] if PERMITTED else []
    if without and not shutil.which(without[0]):
        pytest.skip("no setpriv, which takes a right away")
    simulated = FILE.replace("[path]", 'backend = "sim"\n[path]', 1)
    (tmp_path / "a.toml").write_text(simulated)
    (tmp_path / "both.toml").write_text(FILE.replace("[path]", 'backend = { sweep = ["sim", "testbed"] }\n[path]', 1))
    for words in (["both.toml"], ["a.toml", "both.toml"], ["both.toml", "--shard", "1/1"]):
        call = [*without, sys.executable, "-m", "longfat", "run", *words]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1
        assert "CAP_NET_ADMIN" in done.stderr
        assert done.stdout == ""
    script = "import longfat; longfat.load('both.toml').sweep(tick=lambda work: print(work.done))"
    done = subprocess.run([*without, sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == ""
    assert "ExperimentError" in done.stderr


@pytest.mark.slow
@needs_rights
@pytest.mark.skipif(HAS_BPF, reason="this build has the controls")
def test_a_control_that_this_build_has_not_is_said_before_anything_is_run(tmp_path: Path) -> None:
    text = FILE.replace("[path]", 'backend = "testbed"\n[path]', 1)
    (tmp_path / "two.toml").write_text(text.replace("[[flow]]", '[[flow]]\ncongestion_control = { sweep = ["reno", "scalable"] }'))
    done = command("run", "two.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "built without BPF" in done.stderr
