"""Measurements between two hosts: over loopback, and over a path whose rate and delay are known."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat import _longfat
from longfat.cli.serve import read_limits
from longfat.cli.testbed import permitted
from longfat.errors import LongfatError
from longfat.live import limit
from longfat.live.serving import serving as started
from longfat.locate import sources
from longfat.tune import server as serve_check
from longfat.tune.host import Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux")

FILE = """
title = "to itself"
backend = "live"
[live]
[[live.host]]
name = "here"
at = "local"
[[live.host]]
name = "there"
at = "{at}"
{key}
{flows}
[measure]
duration = "{duration}"
interval = "100 ms"
"""
UP = '[[flow]]\nname = "up"\ncongestion_control = "reno"\nwindow = "1 MiB"\n'
DOWN = '[[flow]]\nname = "down"\nfrom = "there"\nto = "here"\ncongestion_control = "reno"\nwindow = "1 MiB"\n'


def text(at: str, flows: str = UP, duration: str = "1 s", key: str = 'key = "test"') -> str:
    return FILE.format(at=at, key=key, flows=flows, duration=duration)


def command(*arguments: str, home: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "longfat", *arguments], env=env, capture_output=True, text=True, timeout=120, check=False, **more
    )


@contextlib.contextmanager
def serving(
    home: Path, *arguments: str, bind: str = "127.0.0.1", before: Sequence[str] = ()
) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """A server of this test, called behind the words `before`: its address, and its process."""
    with started(*arguments, bind=bind, before=before, env={**os.environ, "XDG_CONFIG_HOME": str(home)}) as server:
        yield server.at, server.process


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for keys, with the key `test`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    made = command("key", "new", "test", home=tmp_path)
    assert made.returncode == 0, made.stderr
    return tmp_path


@pytest.mark.slow
def test_a_key_is_printed_once_and_kept_for_its_owner(home: Path, tmp_path: Path) -> None:
    file = home / "longfat" / "keys" / "test"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = command("key", "new", "test", home=home)
    assert again.returncode == 1
    assert "already" in again.stderr
    other = tmp_path / "other"
    kept = command("key", "add", "theirs", home=other, input=file.read_text())
    assert kept.returncode == 0
    assert (other / "longfat" / "keys" / "theirs").read_text() == file.read_text()
    wrong = command("key", "add", "wrong", home=other, input="longfat-key-1:00\n")
    assert wrong.returncode == 1
    assert "64 hexadecimal digits" in wrong.stderr
    assert file.read_text().strip()[20:] not in again.stdout + again.stderr


@pytest.mark.slow
def test_limits_have_units_and_names(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('seconds = "10 min"\nbytes = "1 GiB"\nflows = 4\n[open]\nrate = "100 Mbit/s"\n')
    assert read_limits(file) == ({"seconds": 600, "bytes": 1 << 30, "flows": 4}, {"rate": 100_000_000})
    for wrong, said in [
        ("seconds = 5", '"1 h"'),
        ('rate = "5 s"', '"1 Gbit/s"'),
        ('flows = "4"', "whole number"),
        ("open = 1", "must be a table"),
        ("x", "not TOML"),
    ]:
        file.write_text(wrong)
        with pytest.raises(LongfatError, match=re.escape(said)):
            read_limits(file)
    file.write_text("nosuch = 1")
    done = command("serve", "--open", "--limits", str(file), home=tmp_path)
    assert done.returncode == 1
    assert "there is no limit `nosuch`" in done.stderr


@pytest.mark.slow
def test_a_server_says_what_it_lacks(tmp_path: Path) -> None:
    done = command("serve", home=tmp_path)
    assert done.returncode == 1
    assert "--key NAME" in done.stderr
    assert "--open" in done.stderr
    done = command("serve", "--key", "nosuch", home=tmp_path)
    assert done.returncode == 1
    assert "longfat key new nosuch" in done.stderr


def test_a_server_gives_up_rights_and_says_what_the_kernel_lacks(home: Path) -> None:
    with serving(home, "--key", "test") as (at, server):
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
        assert server.stdout is not None
        assert longfat.Experiment(text(at)).run().verdict
        said = server.stdout.readline()
    # A kernel without all of Landlock adds a sentence to the first lines, and the session works at any kernel.
    assert "Landlock" in said or "ended well" in said, said


def test_check_tells_of_the_host_and_of_loopback_without_addresses(tmp_path: Path) -> None:
    done = command("serve", "--check", home=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kernel"] == os.uname().release
    assert told["sysctl"]["net.ipv4.tcp_rmem"].split() == Path("/proc/sys/net/ipv4/tcp_rmem").read_text().split()
    for direction in ("up", "down"):
        found = told["loopback"][direction]
        assert found["goodput_gbps"] > 0
        assert found["gbit_per_cpu_s"] > 0
        assert found["probes"] > 0
        assert found["verdict"]
    assert os.uname().nodename not in done.stdout.split()
    assert not re.search(r"\b\d+\.\d+\.\d+\.\d+\b|([0-9a-f]{2}:){5}|127\.0", done.stdout), "an address"
    refused = command("serve", "--open", "--addresses", home=tmp_path)
    assert refused.returncode == 1
    assert "--addresses: goes with --check alone" in refused.stderr


def test_a_card_is_told_as_its_files_say(tmp_path: Path) -> None:
    card, commands = tmp_path / "sys/class/net/eth0", tmp_path / "commands"
    for file, content in {
        card / "speed": "100000\n",
        card / "mtu": "9000\n",
        card / "device/numa_node": "1\n",
        card / "queues/rx-0/rps_cpus": "0\n",
        commands / "ethtool -i eth0": "driver: mlx5_core\nbus-info: 0000:01:00.0\n",
        commands / "ethtool -k eth0": "rx-checksumming: on\ntcp-segmentation-offload: on\nlarge-receive-offload: off [fixed]\n",
        commands / "ethtool -T eth0": "Capabilities:\n\thardware-transmit\n\tsoftware-receive\n",
        commands / "ip addr show dev eth0": "    inet 192.0.2.1/24 scope global\n    inet6 2001:db8::1/64 scope global\n",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    found = serve_check.interface(Host(tmp_path), "eth0", addresses=False)
    assert found == {
        "name": "eth0",
        "driver": "mlx5_core",
        "state": None,
        "speed_mbps": "100000",
        "mtu_bytes": "9000",
        "numa_node": "1",
        "queues": 1,
        "qdisc": None,
        "offloads": {"tcp-segmentation-offload": "on", "large-receive-offload": "off"},
        "rings": None,
        "stamps": ["hardware-transmit", "software-receive"],
    }
    assert serve_check.interface(Host(tmp_path), "eth0", addresses=True)["addresses"] == ["192.0.2.1/24", "2001:db8::1/64"]


def test_a_file_without_hosts_is_refused_with_what_is_needed() -> None:
    whole = text("192.0.2.1")
    parts = [
        (re.sub(r"\[live\].*?(?=\[\[flow)", "", whole, flags=re.DOTALL), r"\[\[live\.host\]\]"),
        (whole.replace('at = "local"', 'at = "192.0.2.2"'), "of which 0 are local"),
        (whole.replace('name = "there"', 'name = "here"'), "two hosts `here`"),
        (whole.replace('at = "192.0.2.1"', 'at = "a b"'), "no address"),
        (whole.replace("[measure]", "[measure]\nacks = true"), "a log of ACKs"),
        (whole.replace('"reno"', '"fast"'), "Linux has none of this name"),
        (whole.replace("[measure]", '[[flow]]\ntraffic = { kind = "ping" }\n[measure]'), "a session has probes of its own"),
    ]
    for wrong, said in parts:
        with pytest.raises(longfat.ExperimentError, match=said):
            longfat.Experiment(wrong)


def test_the_hosts_and_not_the_keys_are_a_runs_identity() -> None:
    def hash_of(changed: str) -> str:
        return longfat.Experiment(changed).resolve(0).hash

    whole = text("192.0.2.1")
    path = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "20 Mbit/s" }\n'
    assert hash_of(whole) == hash_of(whole.replace('key = "test"', "")) == hash_of(whole.replace("[measure]", path + "[measure]"))
    assert hash_of(whole) != hash_of(text("192.0.2.2"))
    assert hash_of(whole) == hash_of(whole.replace("[live]", '[live]\nspread = "0 s"\nsurvey = true'))
    for said in ('spread = "10 min"', "survey = false"):
        assert hash_of(whole) != hash_of(whole.replace("[live]", f"[live]\n{said}")), said
    apart = longfat.Experiment(whole.replace("[live]", '[live]\nspread = "10 min"')).resolve(0)
    assert apart.spread_s == 600
    simulated = (
        whole.replace("[measure]", path + "[measure]")
        .replace('"live"', '"sim"')
        .replace('"here"', '"left1"')
        .replace('"there"', '"right1"')
    )
    bare = re.sub(r"\[live\].*?(?=\[\[flow)", "", simulated, flags=re.DOTALL)
    assert hash_of(simulated) == hash_of(bare), "a simulated run knows no real hosts"


@pytest.mark.slow
def test_flows_each_way_make_the_tables_of_every_run(home: Path) -> None:
    volume = UP.replace('"up"', '"volume"') + 'traffic = { kind = "ttcp", volume = "3 MiB" }\n'
    flows = volume + DOWN + "streams = 2\n"
    with serving(home, "--key", "test") as (at, server):
        file = text(at, flows, "20 s").replace("[live]", "[live]\nsurvey = false") + "events = true\n"
        file += '[path]\npreset = "dumbbell"\nrtt = "1 ms"\nbottleneck = { rate = "1 Gbit/s" }\n'
        result = longfat.Experiment(file).run()
        assert server.stdout is not None
        line = server.stdout.readline()
    assert "127.0.0.1 key test: 3 flows" in line
    assert "ended well" in line
    assert len(result.flows) == 3
    first = result.flows.iloc[0]
    assert first["bytes_delivered"] == 3 << 20 == first["bytes_sent"] - first["bytes_retransmitted"]
    assert 0 < first["delivered_all_s"] <= result.end_s < 20
    assert (result.flows["bytes_delivered"] > 100_000).all()
    assert (result.flows["control_from"] == "kernel").all()
    assert (result.flows["limited_by"] != "").all()
    assert result.flows["limited_by_confidence"].between(0, 1).all()
    assert len(result.links) == 0
    assert 0 < result.real_time["base_rtt_before_s"] < 0.1
    assert 0 < result.real_time["base_rtt_after_s"] < 0.1
    assert "late_p99_s" not in result.real_time
    said = {warning.name: warning.text for warning in result.warnings}
    assert "`path`" in said["not_controlled"]


@pytest.mark.slow
def test_a_run_is_kept_shown_and_reported(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    with serving(home, "--key", "test") as (at, _):
        file.write_text(text(at, UP + DOWN))
        ran = command("run", str(file), home=home, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        again = command("run", str(file), home=home, cwd=tmp_path)
    assert "finished already" in again.stdout
    shown = command("show", str(file), home=home, cwd=tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "goodput" in shown.stdout
    told = command("report", str(file), home=home, cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    explained = command("explain", str(file), home=home, cwd=tmp_path)
    assert explained.returncode == 0, explained.stdout + explained.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert pages
    assert "nan" not in re.sub(r"<script.*?</script>", "", pages[0].read_text(), flags=re.DOTALL).lower().split()
    stored = [path.read_text(errors="replace") for path in (tmp_path / "results").rglob("*") if path.suffix in (".json", ".toml", ".html")]
    secret = (home / "longfat" / "keys" / "test").read_text().strip()[14:]
    assert not any(secret in one for one in stored)


@pytest.mark.alone
def test_applications_write_and_read_at_their_own_pace(home: Path) -> None:
    flows = """
    [[flow]]
    name = "keys"
    traffic = { kind = "telnet", interval = "20 ms", size = "2 kB" }
    [[flow]]
    name = "pages"
    from = "there"
    to = "here"
    traffic = { kind = "web", size = "20 kB", think = "50 ms" }
    [[flow]]
    name = "blocks"
    from = "there"
    to = "here"
    traffic = { kind = "writes", size = "10 kB", rate = "2 Mbit/s" }
    [[flow]]
    name = "slow"
    read_rate = "3 Mbit/s"
    """
    with serving(home, "--key", "test") as (at, _):
        found = longfat.Experiment(text(at, flows, duration="3 s")).run().flows.set_index("group")
    # A busy machine does less than it was asked to.
    for group, most in (("keys", 0.8e6 * 1.5), ("pages", 1e12), ("blocks", 2e6 * 1.1), ("slow", 3e6 * 1.1)):
        assert 0 < found.loc[group, "goodput_bps"] < most, found["goodput_bps"]
    assert found.loc["keys", "limited_by"] in ("application", "Nagle and delayed ACKs", "cannot tell"), found["limited_by"]


UDP = {
    "udp": ('rate = "2 Mbit/s", size = "1000 bytes"', 2e6 * 2 / 8000, 0),
    "sinusoid": ('mean = "2 Mbit/s", amplitude = "1 Mbit/s", period = "500 ms", size = "1000 bytes"', 2e6 * 2 / 8000, 0),
    "on_off": ('rate = "4 Mbit/s", on = "40 ms", off = "40 ms", size = "1000 bytes"', None, 0),
    "udpmon": ('packets = "400 packets", gap = "1 ms", size = "1000 bytes"', 400, 1e-3),
}
"""Kinds of traffic over UDP: their parameters, the packets due in 2 s (None: random), and the gap of each but the first (0: not even)."""


@pytest.mark.alone
@pytest.mark.parametrize("kind", UDP)
def test_traffic_over_udp_has_its_counts_and_times(home: Path, kind: str) -> None:
    params, due, gap = UDP[kind]
    one = f'traffic = {{ kind = "{kind}", {params} }}\nstop = "2 s"\n'
    flows = f'[[flow]]\nname = "up"\n{one}[[flow]]\nname = "down"\nfrom = "there"\nto = "here"\n{one}'
    with serving(home, "--key", "test") as (at, _):
        result = longfat.Experiment(text(at, flows, "3 s").replace("[live]", "[live]\nsurvey = false")).run()
    there = result.flows.set_index("group")
    for way in ("up", "down"):
        flow = there.loc[way]
        if due is not None:
            # A busy host sends late, and what is due within the last moments it may not send.
            assert 0.5 * due <= flow["segments_sent"] <= due + 1, flow
        assert flow["bytes_sent"] == 972 * flow["segments_sent"]
        assert flow["bytes_delivered"] == flow["bytes_arrived"] == 972 * (flow["packets_delivered"] - flow["duplicates_received"])
        # Loopback loses nothing, but a busy host may not read its socket in time.
        lost = result.real_time["lost_at_socket"]
        assert 0 <= flow["segments_sent"] - flow["packets_delivered"] <= lost
        assert flow["packets_dropped"] <= lost
        assert flow["udp_loss_share"] <= lost / flow["segments_sent"]
        assert 0 <= flow["udp_jitter_s"] < 0.1
        assert flow["goodput_bps"] == pytest.approx(8 * flow["bytes_delivered"] / 3, rel=1e-6)
        for unknown in ("rtt_mean_s", "rtt_min_s", "cwnd_limited_s", "established_s"):
            assert flow[unknown] != flow[unknown], unknown
        assert "limited_by" not in flow.index, "UDP is limited by nothing that a verdict names"
        rows = result.datagrams[result.datagrams["flow"] == flow["flow"]]
        assert len(rows) == flow["segments_sent"]
        assert list(rows["number"]) == list(range(len(rows)))
        assert rows["arrived_s"].notna().sum() == flow["packets_delivered"] - flow["duplicates_received"]
        assert rows["time_s"].is_monotonic_increasing
        assert -0.05 < rows["time_s"].iloc[0] < rows["time_s"].iloc[-1] < 2
        assert (rows["timer_error_s"] >= 0).all()
        assert (abs(rows["sent_s"] - rows["time_s"] - rows["timer_error_s"]) < 1e-8).all()
        if gap:
            assert (abs(rows["time_s"].diff().dropna() - gap) < 1e-8).all()
    series = result.flow_series.groupby("flow")["bytes_delivered"]
    assert series.apply(lambda delivered: delivered.is_monotonic_increasing).all()
    assert list(series.last()) == list(result.flows["bytes_delivered"])
    assert len(result.tcp_info) == 0
    assert set(result.host_series["host"]) == {"near", "far"}


@pytest.mark.alone
def test_a_burst_tells_of_its_path_and_udp_of_its_limits(home: Path, tmp_path: Path) -> None:
    from longfat.theory.probe import probe

    burst = '[[flow]]\nname = "burst"\ntraffic = { kind = "udpmon", packets = "500 packets", size = "1000 bytes" }\n'
    with serving(home, "--key", "test") as (at, _):
        result = longfat.Experiment(text(at, burst + UP).replace("[live]", "[live]\nsurvey = false")).run()
        rows = result.datagrams.dropna(subset=["arrived_s"]).sort_values("arrived_s")
        found = probe(rows["number"].to_numpy(), rows["arrived_s"].to_numpy(), size=1000, sent=500)
        assert found.rate_bps.value > 1e6
        fast = burst.replace("500 packets", "5000 packets")
        with pytest.raises(longfat.ExperimentError, match="the limit `udp_rate` is 10000000"):
            longfat.Experiment(text(at, fast)).run()
    with serving(home, "--open") as (at, _), pytest.raises(longfat.ExperimentError, match="the limit `udp_rate` is 0"):
        longfat.Experiment(text(at, burst, key="")).run()


CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
def test_one_file_runs_on_all_backends_with_one_report(home: Path, tmp_path: Path) -> None:
    """Settings that this kernel does not have are skipped as the file says, and of the others one more than three tells nothing new."""
    file = tmp_path / "slac-like.toml"
    whole = sources("slac-like")[0].file.read_text()
    file.write_text(whole + '\n[[skip]]\nsetting = ["S-TCP", "HS-TCP", "BIC", "H-TCP", "FAST", "HSTCP-LP"]\n')
    if "cubic" not in CONTROLS.read_text().split():
        file.write_text(file.read_text() + '\n[[skip]]\nbackend = "live"\nsetting = "CUBIC"\n')
    with serving(home, "--key", "test") as (at, _):
        host = ["--set", f"live.host[1].at={at}", "--set", "live.host[1].key=test", "--set", "live.survey=false"]
        ran = command("run", str(file), "--quick", *host, home=home, cwd=tmp_path)
    if "another testbed is running" in ran.stderr:
        pytest.skip("another testbed is running")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    [folder] = (tmp_path / "results" / "quick").iterdir()
    results = longfat.load_results(folder)
    runs = results.runs
    assert set(runs["backend"]) == {"sim", "testbed", "live"}
    counts = runs.groupby("backend").size()
    assert counts["sim"] == counts["testbed"] == 6 >= counts["live"] >= 4
    udp = results.flows[results.flows["group"] == "udp"]
    # 5 Mbit/s in packets of 1500 bytes, less its swing in 4 s of 10.
    assert ((udp["segments_sent"] - 2200).abs() < 200).all(), udp[["backend", "segments_sent"]]
    assert (runs[runs["backend"] != "live"]["ping_rtt_mean_s"] > 0.02).all()
    assert runs[runs["backend"] == "live"]["ping_rtt_mean_s"].isna().all()
    assert (runs["goodput_total_bps"] > 1e6).all()
    told = command("report", str(folder), home=home, cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert len(list((tmp_path / "reports").rglob("*.html"))) == 1


def test_each_cause_of_a_verdict_has_a_change_to_try() -> None:
    causes = re.findall(r'^ +\w+ = "(.+)",$', (Path(__file__).parent.parent / "crates/record/src/trace/cause.rs").read_text(), re.MULTILINE)
    assert set(limit.CHANGES) == set(causes)
    assert set(limit.AT_HOSTS) < set(causes)
    assert limit.change("send buffer", "up", 1 << 20) == (
        'at this host, try `sysctl -w net.ipv4.tcp_wmem="4096 16384 8388608"`, and measure again'
    )
    assert limit.change("receive window", "up", 0).startswith("at the other host, try `sysctl -w net.ipv4.tcp_rmem=")
    assert limit.change("policer", "down", 0) == "ask who runs the path for the rate that it enforces"


@pytest.mark.alone
def test_measure_tells_of_both_directions(home: Path) -> None:
    with serving(home, "--key", "test") as (at, _):
        done = command("measure", at, "--key", "test", "--seconds", "2", "--json", home=home)
        assert done.returncode == 0, done.stdout + done.stderr
        flented = ["--flent", str(home / "seen.flent.gz")]
        shown = command("measure", at, "--key", "test", "--seconds", "2", *flented, home=home)
        wrong = command("measure", at, "--key", "test", "--flent", "seen.json", home=home)
    told = json.loads(done.stdout)
    assert set(told["both"]) == {"up", "down"}
    for made, way in [(told, "up"), (told, "down"), (told["both"], "up"), (told["both"], "down")]:
        assert made[way]["goodput_bps"] > 1e6
        assert 0 < made[way]["rtt_idle_s"] < 0.1
        delays = [made[way][f"queue_delay_{to}_{when}p95_s"] for to in ("up", "down") for when in ("idle_", "")]
        assert all(0 <= delay < 0.5 for delay in delays), made
        assert made[way]["loaded_rtt_per_minute"] > 0
        assert made[way]["tcp_efficiency"] == pytest.approx(1 - made[way]["retransmission_rate"])
        assert made[way]["tcp_efficiency"] > 0.5
        assert made[way]["buffer_delay"] >= 0
        assert made[way]["one_way_delay_most_s"] == made[way]["rtt_idle_s"]
        assert made[way]["transfer_time_ratio"] is None or made[way]["transfer_time_ratio"] > 0.5
        assert made[way]["limited_by"] in limit.CHANGES
        assert 0 <= made[way]["limited_by_confidence"] <= 1
        assert made[way]["change"]
    assert re.search(r"up +[\d,.]+ Mbit/s; RTT [\d.]+ ms idle", shown.stdout), shown.stdout + shown.stderr
    assert re.search(r"queueing delay .* up [\d.]+ ms idle, [\d.]+ ms under load; down", shown.stdout), shown.stdout
    assert "One-way delay without queues: 0 to " in shown.stdout
    assert "left:" not in shown.stderr, "no bar but on a terminal"
    assert shown.stdout.count("RFC 6349: efficiency ") == 4
    assert len(re.findall(r"^ +limited by: .* sure.*\n +to change: ", shown.stdout, re.MULTILINE)) == 4, shown.stdout
    for phase, flow in (("up", "TCP upload"), ("down", "TCP download"), ("both", "TCP upload"), ("both", "TCP download")):
        data = json.loads(gzip.decompress((home / f"seen-{phase}.flent.gz").read_bytes()))
        assert any(rate is not None and rate > 1 for rate in data["results"][flow])
        assert data["raw_values"][flow]
    assert wrong.returncode == 1
    assert "ends in .flent.gz" in wrong.stderr


@pytest.mark.slow
def test_events_are_told_while_the_run_goes_on_and_ctrl_c_ends_with_one(home: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    with serving(home, "--key", "test") as (at, _):
        words = [sys.executable, "-m", "longfat", "measure", at, "--key", "test", "--seconds", "600", "--json-stream"]
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            # Ten minutes are not over: these come as the run goes.
            first = [json.loads(client.stdout.readline()) for _ in range(3)]
            assert client.poll() is None
            client.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=60)
    events = [*first, *map(json.loads, out.splitlines())]
    names = [one["event"] for one in events]
    assert (names[0], set(names[1:-1]), names[-1]) == ("start", {"interval"}, "end"), err
    assert events[0]["data"]["test_start"]["duration"] == 600
    sums = [one["data"]["sum"] for one in events[1:-1]]
    assert sums[0]["start"] == 0
    assert [one["end"] for one in sums[:-1]] == [one["start"] for one in sums[1:]]
    assert all(one["bytes"] > 0 for one in sums[:2])
    assert 2 <= sums[-1]["end"] <= events[-1]["data"]["sum_sent"]["seconds"] < 600
    stream = first[1]["data"]["streams"][0]
    assert {"retransmits", "snd_cwnd", "snd_wnd", "rtt", "min_rtt", "busy_time", "rwnd_limited"} <= set(stream)
    assert "Stopped in the run 'up'" in err


@pytest.mark.slow
def test_an_open_server_is_measured_for_as_long_as_it_grants(home: Path, tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text('[open]\nseconds = "5 s"\nrate = "100 Mbit/s"\n')
    with serving(home, "--open", "--limits", str(limits)) as (at, _):
        done = command("measure", at, "--direction", "down", home=home)
    assert done.returncode == 0, done.stderr
    assert re.search(r"One flow down, 3 s \(.+ round trips.*\)", done.stdout), done.stdout
    assert done.stderr.count("grants 3 of 10 s: its limit `seconds` allows no more") == 1


@pytest.mark.alone
def test_probes_are_metrics_unless_the_server_grants_none(home: Path, tmp_path: Path) -> None:
    with serving(home, "--key", "test") as (at, _):
        metrics = longfat.Experiment(text(at, DOWN)).run().metrics
    for way in ("up", "down"):
        assert 0 <= metrics[f"queue_delay_{way}_p50_s"] <= metrics[f"queue_delay_{way}_p95_s"] <= metrics[f"queue_delay_{way}_p99_s"] < 0.5
        assert 0 <= metrics[f"queue_delay_{way}_idle_p50_s"] <= metrics[f"queue_delay_{way}_idle_p95_s"] < 0.5
        assert 0 <= metrics[f"probe_loss_{way}_share"] < 0.1
    assert 0 < metrics["timer_error_p50_s"] <= metrics["timer_error_p99_s"]
    limits = tmp_path / "limits.toml"
    limits.write_text('udp_rate = "1 kbit/s"\n')
    with serving(home, "--key", "test", "--limits", str(limits)) as (at, _):
        measured = command("measure", at, "--key", "test", "--seconds", "2", home=home)
    assert "queueing delay unknown" in measured.stdout, measured.stdout + measured.stderr


@pytest.mark.alone
def test_both_kernels_and_each_probe_are_in_the_results(home: Path, tmp_path: Path) -> None:
    with serving(home, "--key", "test") as (at, _):
        results = longfat.Experiment(text(at, UP + DOWN)).sweep(tmp_path / "results")
    result = results[0]
    info = result.tcp_info
    assert len(info) > 40
    assert {tuple(row) for row in info[["flow", "end"]].drop_duplicates().to_numpy()} == {
        (f, e) for f in (0, 1) for e in ("sender", "receiver")
    }
    sender = info[(info["flow"] == 0) & (info["end"] == "sender")]
    assert sender["bytes_sent"].is_monotonic_increasing
    # 20 bytes open the connection.
    assert abs(sender["bytes_sent"].iloc[-1] - 20 - result.flows["bytes_sent"].iloc[0]) < 0.2 * result.flows["bytes_sent"].iloc[0]
    probes = result.probes
    assert set(probes["direction"]) == {"up", "down"}
    for way in ("up", "down"):
        those = probes[probes["direction"] == way]
        assert those["number"].is_monotonic_increasing
        assert those["time_s"].min() < -0.5 < 1 < those["time_s"].max()
        lost = result.metrics[f"probe_loss_{way}_share"]
        assert abs((those["arrived"] == 0).mean() - lost) < 0.05
        measured = those[(those["time_s"] >= 0) & (those["time_s"] <= result.end_s)]["queue_delay_s"]
        assert abs(measured.quantile(0.5) - result.metrics[f"queue_delay_{way}_p50_s"]) < 1e-3
    hosts = result.host_series
    assert set(hosts["host"]) == {"near", "far"}
    for name in ("near", "far"):
        those = hosts[hosts["host"] == name]
        assert len(those) >= 2
        assert those["time_s"].is_monotonic_increasing
        # Samples after the flows have ended see little or nothing.
        assert those["rx_bytes"].is_monotonic_increasing
        crossed = those["rx_bytes"].iloc[-1] - those["rx_bytes"].iloc[0]
        assert crossed > result.flows["bytes_sent"].sum() / 2, "both flows cross the loopback, which is the device of both hosts"
        assert (those["cores"] >= 1).all()
    real = result.real_time
    assert real["clock_fast_ppb"] + real["clock_slow_ppb"] < 1e6, "both ends have one clock"
    assert real["probes_unstamped"] == ((probes["arrived"] == 1) & (probes["unstamped"] == 1)).sum()
    assert len(longfat.load_results(tmp_path / "results").table("tcp_info")) == len(info)


PAGE = Path(__file__).parents[1] / "docs" / "results-live.md"


@pytest.mark.slow
def test_the_page_says_which_columns_a_run_between_hosts_lacks(home: Path) -> None:
    """The columns that are all NaN or 0 between hosts, and not in a simulation of the same flow."""
    flow = UP.replace('window = "1 MiB"\n', "")
    path = '[path]\npreset = "dumbbell"\nrtt = "20 ms"\nbottleneck = { rate = "20 Mbit/s" }\n'
    plain = re.sub(r"\[live\].*?(?=\[\[flow)", "", text("", flow, "3 s"), flags=re.DOTALL).replace('"live"', '"sim"')
    simulated = longfat.Experiment(plain + path).run()
    with serving(home, "--key", "test") as (at, _):
        live = longfat.Experiment(text(at, flow, "3 s")).run()
    row = f"| `runs` | {_lacking(live.metrics, simulated.metrics)} |\n"
    first = [dict(result.flows.iloc[0]) for result in (live, simulated)]
    row += f"| `flows` | {_lacking(*first)} |\n"
    page = PAGE.read_text(encoding="utf-8")
    made = re.sub(r"(<!-- lacking -->\n.*?\n.*?\n).*?(?=<!-- end -->)", lambda found: found[1] + row, page, count=1, flags=re.DOTALL)
    # Some of these depend on the kernel's stamps and on what comes through; the path of this test is loopback.
    more = ", ".join(f"`{name}`" for name in live.metrics if name not in simulated.metrics)
    made = re.sub(
        r"(<!-- only -->\n.*?\n.*?\n).*?(?=<!-- end -->)", lambda at: f"{at[1]}| `runs` | {more} |\n", made, count=1, flags=re.DOTALL
    )
    for name in ("tcp_info", "probes", "hops"):
        assert len(getattr(simulated, name)) == 0
        assert list(getattr(live, name).columns) == list(getattr(simulated, name).columns)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made


def _lacking(live: dict[str, Any], simulated: dict[str, Any]) -> str:
    def has(values: dict[str, Any], name: str) -> bool:
        value = values.get(name)
        return isinstance(value, str) or (value is not None and value == value and value != 0)

    # A path of its own may or may not lose packets: these counts exist in all backends.
    return ", ".join(f"`{name}`" for name in simulated if has(simulated, name) and not has(live, name) and name not in BY_CHANCE)


BY_CHANCE = {
    "bytes_retransmitted",
    "duplicates_received",
    "fast_retransmits",
    "packets_dropped",
    "recovery_s",
    "retransmission_rate",
    "retransmit_share",
    "segments_retransmitted",
    "ssthresh_end_bytes",
    "timeouts",
    "rwnd_limited_s",
    "rwnd_limited_share",
    "sndbuf_limited_s",
    "sndbuf_limited_share",
    "cwnd_limited_s",
    "cwnd_limited_share",
}
"""Values that are 0 on some paths and not on others."""


@pytest.mark.slow
def test_strangers_stay_out(home: Path) -> None:
    with serving(home, "--key", "test") as (at, _), pytest.raises(longfat.ExperimentError, match="lets nobody in without one"):
        longfat.Experiment(text(at, key="")).run()
    with pytest.raises(longfat.ExperimentError, match="longfat key new other"):
        longfat.Experiment(text("127.0.0.1:1", key='key = "other"')).run()
    with pytest.raises(longfat.ExperimentError, match="Is `longfat serve` running there"):
        longfat.Experiment(text("127.0.0.1:1")).run()


@pytest.mark.slow
def test_a_client_that_is_killed_frees_the_server(home: Path) -> None:
    with serving(home, "--key", "test") as (at, server):
        env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
        flow = text(at, UP, "60 s").replace("[live]", "[live]\nsurvey = false")
        program = f"import longfat\nlongfat.Experiment({flow!r}).run()"
        with subprocess.Popen([sys.executable, "-c", program], env=env) as client:
            time.sleep(4)
            client.kill()
        started = time.monotonic()
        longfat.Experiment(text(at, UP, "200 ms")).run()
        assert time.monotonic() - started < 15
        assert server.stdout is not None
        assert "the other side closed the connection" in server.stdout.readline()


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    with serving(home, "--key", "test") as (at, server):
        file.write_text(text(at, DOWN, "60 s"))
        env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
        words = [sys.executable, "-m", "longfat", "run", str(file)]
        with subprocess.Popen(words, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            # The thread of the probes lives as long as the flows run.
            tasks = Path(f"/proc/{client.pid}/task")
            while "probes" not in [name.read_text().strip() for name in tasks.glob("*/comm")]:
                assert client.poll() is None, client.communicate()
                time.sleep(0.1)
            time.sleep(2)
            client.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=60)
        assert "0 of 1 runs are finished and kept" in err.replace("\n", " "), out + err
        assert server.stdout is not None
        assert "ended well" in server.stdout.readline()
    shown = command("show", str(file), "--warnings", home=home, cwd=tmp_path)
    assert "it was stopped after" in shown.stdout.replace("\n", " "), shown.stdout + shown.stderr
    assert "1 run cut before the end" in shown.stdout.replace("\n", " ")


PATH = """
backend = "testbed"
[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
stack = "linux"
[measure]
duration = "1 s"
"""
MEASURE = """
import json, os, subprocess, sys
import longfat
from longfat.live.serving import serving_at
with serving_at("right1", "--key", "test") as server:
    result = longfat.Experiment(os.environ["LIVE"].replace("ADDRESS", server.at)).run()
    real = result.real_time
    flows = result.flows
    with open(os.environ["MEASURED"], "w") as file:
        times = [real["base_rtt_before_s"], real["base_rtt_after_s"], *flows["rtt_min_s"]]
        json.dump({"times": times, "delivered": flows["bytes_delivered"].tolist(), "metrics": result.metrics}, file)
"""


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
def test_a_path_that_is_known_is_measured_as_it_is(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = tmp_path / "measured.json"
    down = '[[flow]]\nname = "down"\nfrom = "there"\nto = "here"\ncongestion_control = "reno"\nstart = "6 s"\n'
    up = UP.replace('window = "1 MiB"\n', 'stop = "6 s"\n')
    live = text("ADDRESS", up + down, "12 s")
    monkeypatch.setenv("LIVE", live)
    monkeypatch.setenv("MEASURED", str(measured))
    try:
        code, trace = _longfat.testbed_shell(longfat.Experiment(PATH).resolve(0), None, [sys.executable, "-c", MEASURE])
    except longfat.ExperimentError as error:
        if "another testbed is running" in str(error):
            pytest.skip("another testbed is running")
        raise
    assert code == 0
    made = json.loads(measured.read_text())
    # The path has 40 ms; the machine adds what it adds.
    assert all(0.0395 < rtt < 0.046 for rtt in made["times"]), made
    # 1448 of 1500 bytes are payload; Reno over a buffer of one BDP fills the path after slow start. Each flow has half of the run.
    # What is in queues and buffers when the first one stops arrives later.
    most = 6 * 20e6 / 8 * 1448 / 1500
    assert all(0.8 * most < delivered < 1.15 * most for delivered in made["delivered"]), made
    # Each flow fills the queue of its direction; before both there is none.
    links = trace.tables()["links"]
    place = {name: number for number, name in enumerate(links["name"])}
    delay = float(links["queue_delay_p99_s"][place["bottleneck>"]])
    longest = 8 * float(links["queue_max_bytes"][place["bottleneck<"]]) / 20e6
    metrics = made["metrics"]
    assert abs(metrics["queue_delay_up_p99_s"] - delay) < 0.1 * delay, (delay, metrics)
    assert 0.7 * longest < metrics["queue_delay_down_p99_s"] < 1.1 * longest, (longest, metrics)
    assert max(metrics["queue_delay_up_idle_p95_s"], metrics["queue_delay_down_idle_p95_s"]) < 0.003, metrics


SEEN = """
import subprocess, sys
from longfat.live.serving import serving_at
with serving_at("right1", "--key", "test") as server:
    options = ["--key", "test", "--control", "reno", "--out", "seen.toml"]
    with open("told.txt", "w") as told:
        subprocess.run([sys.executable, "-m", "longfat", "measure", server.at, *options], stdout=told, stderr=told)
"""


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
def test_a_path_that_is_known_is_written_as_it_is(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    try:
        code, _ = _longfat.testbed_shell(longfat.Experiment(PATH).resolve(0), None, [sys.executable, "-c", SEEN])
    except longfat.ExperimentError as error:
        if "another testbed is running" in str(error):
            pytest.skip("another testbed is running")
        raise
    told = (tmp_path / "told.txt").read_text()
    assert code == 0, told
    text = (tmp_path / "seen.toml").read_text()
    trip = re.search(r'^rtt = "(\d+) us"', text, re.MULTILINE)
    rates = re.findall(r'rate = "(\d+) kbit/s"', text)
    limits = re.findall(r'limit = "(\d+) bytes"', text)
    assert trip, told + text
    assert len(rates) == len(limits) == 2, told + text
    # Of a path of 40 ms, 20 Mbit/s and 100 kB, on a machine that may be busy.
    assert abs(int(trip[1]) / 40e3 - 1) < 0.05, text
    assert all(abs(int(rate) / 20e3 - 1) < 0.05 for rate in rates), text
    assert all(abs(int(limit) / 100e3 - 1) < 0.15 for limit in limits), text
    assert "Measured, and simulated over it:" in told


SERVICE = Path(__file__).parents[1] / "contrib" / "longfat-serve.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_the_service_is_one_to_systemd(tmp_path: Path) -> None:
    """Each key is known, and the sandbox keeps its rating."""
    unit = tmp_path / SERVICE.name
    unit.write_text(SERVICE.read_text(encoding="utf-8").replace("/usr/local/bin/longfat", sys.executable), encoding="utf-8")
    told = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    ours = [line for line in told.stderr.splitlines() if unit.name in line]
    assert not ours, told.stderr
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False)
    exposure = re.search(r"Overall exposure level for .*: ([0-9.]+)", rated.stdout)
    # Versions before 250 rate no file.
    assert exposure is None or float(exposure[1]) <= 2.0, rated.stdout[-200:]


@pytest.mark.slow
def test_the_service_starts_the_server_as_it_is_called(tmp_path: Path) -> None:
    start = re.search(r"^ExecStart=\S*/longfat (.*)$", SERVICE.read_text(encoding="utf-8"), re.MULTILINE)
    assert start
    verb, *options = start[1].split()
    help_text = command(verb, "--help", home=tmp_path).stdout
    assert all(option in help_text for option in options if option.startswith("--"))


IPERF = pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3 (make system-packages)")


@contextlib.contextmanager
def iperf_serving() -> Generator[tuple[str, subprocess.Popen[str]]]:
    """A real iperf3 that serves: its address, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["iperf3", "-s", "-p", str(port), "--forceflush"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            while "Server listening" not in server.stdout.readline():
                assert server.poll() is None
            yield f"iperf3://127.0.0.1:{port}", server
        finally:
            server.kill()


@IPERF
@pytest.mark.alone
def test_a_real_iperf3_is_measured_each_way(home: Path) -> None:
    with iperf_serving() as (at, _):
        done = command("measure", at, "--seconds", "2", "--json", home=home)
        shown = command("measure", at, "--seconds", "2", "--direction", "up", "--control", "reno", home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout)
    for way in ("up", "down"):
        assert made[way]["goodput_bps"] > 1e6
        # Both ends count nearly the same time and bytes.
        assert 0.5 < made[way]["goodput_far_bps"] / made[way]["goodput_bps"] < 2, made
        assert 0 < made[way]["rtt_idle_s"] < 1
        assert made[way]["control"]
        assert made[way]["lost"] is None
    assert made["up"]["rtt_loaded_s"] > 0
    assert 0 <= made["up"]["retransmission_rate"] < 0.5
    shares = [made["up"][f"{limit}_limited_share"] for limit in ("cwnd", "rwnd", "sndbuf")]
    assert sum(shares) == pytest.approx(1)
    assert made["down"]["rtt_loaded_s"] is None, "only its sender knows"
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"up +[\d,.]+ Mbit/s \([\d,.]+ by iperf3's count\); RTT .*; reno\n", shown.stdout), shown.stdout
    assert shown.stdout.count("Unknown, since only `longfat serve` tells") == 1


@IPERF
@pytest.mark.slow
def test_an_iperf3_that_is_killed_ends_in_time_and_keeps_what_was_measured(home: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    with iperf_serving() as (at, server):
        words = [sys.executable, "-m", "longfat", "measure", at, "--seconds", "30", "--json"]
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            assert server.stdout is not None
            while "connected to" not in server.stdout.readline():
                assert client.poll() is None
            time.sleep(3)
            server.kill()
            started = time.monotonic()
            out, err = client.communicate(timeout=60)
    assert time.monotonic() - started < 20
    assert client.returncode == 1
    assert "the measurement is not whole: " in err, err
    assert json.loads(out)["up"]["goodput_bps"] > 1e6
    assert json.loads(out)["lost"]


def test_options_that_another_program_cannot_have_are_refused(home: Path) -> None:
    for words, said in [
        (("measure", "iperf3://127.0.0.1:1", "--out", "seen.toml"), "--out: needs `longfat serve`"),
        (("measure", "iperf3://127.0.0.1:1", "--key", "test"), "--key: needs `longfat serve`"),
        (("measure", "iperf3://127.0.0.1:1"), "Is `iperf3 -s` running there"),
        (("measure", "stamp://127.0.0.1:1"), "help: `longfat probe stamp://127.0.0.1:1`"),
        (("probe", "iperf3://127.0.0.1:1"), "help: `longfat measure iperf3://127.0.0.1:1`"),
        (("probe", "stamp://127.0.0.1:1"), "nothing listens there"),
        (("serve", "--open", "--stamp", "8620"), "each needs the other"),
        (("serve", "--open", "--stamp", "8620", "--from", "192.0.2.1/8"), "bits set after the first 8"),
    ]:
        done = command(*words, home=home)
        assert done.returncode == 1, words
        assert said in done.stderr, done.stderr


@pytest.mark.alone
def test_stamp_is_answered_and_measured(home: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(home, "--stamp", str(port), "--from", "127.0.0.0/8") as (_, server):
        assert server.stdout is not None
        assert f"answering STAMP at UDP port {port}, from 127.0.0.0/8" in server.stdout.readline()
        done = command("probe", f"stamp://127.0.0.1:{port}", "--json", home=home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["sent"] == 1000
    assert found["answered"] + (found["lost_up"] or 0) + (found["lost_down"] or 0) + found["lost_unknown"] == 1000
    assert 0 < found["rtt_min_s"] <= found["rtt_p50_s"] <= found["rtt_p99_s"] < 1
    for way in ("up", "down"):
        assert 0 <= found[f"queue_delay_{way}_p50_s"] <= found[f"queue_delay_{way}_p99_s"] < 1
    assert abs(found["clock_skew"]) < 1e-3
    assert found["routers_up"] == 0


STAMPED = """
import os, subprocess, sys
far = os.environ["LONGFAT_NETNS_right1"]
longfat = [sys.executable, "-m", "longfat"]
words = [*longfat, "serve", "--stamp", "8620", "--from", "0.0.0.0/0"]
server = subprocess.Popen(["nsenter", f"--net={far}", *words], stdout=subprocess.PIPE, text=True)
try:
    server.stdout.readline()
    with open("told.json", "w") as told:
        subprocess.run([*longfat, "probe", f"stamp://{os.environ['LONGFAT_ADDRESS_right1']}:8620", "--json"], stdout=told)
finally:
    server.terminate()
"""


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
def test_stamp_sees_a_path_that_is_known(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 ms, and one packet of 20 lost."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    lossy = PATH.replace('limit = "1 bdp" }', 'limit = "1 bdp" }, loss = { kind = "bernoulli", probability = 0.05 }')
    try:
        code, _ = _longfat.testbed_shell(longfat.Experiment(lossy).resolve(0), None, [sys.executable, "-c", STAMPED])
    except longfat.ExperimentError as error:
        if "another testbed is running" in str(error):
            pytest.skip("another testbed is running")
        raise
    assert code == 0
    found = json.loads((tmp_path / "told.json").read_text())
    assert 0.0395 < found["rtt_min_s"] < 0.046, found
    # Of 1000 packets at 5 %: 50, and five standard deviations.
    lost = found["lost_up"] + found["lost_down"]
    assert 15 < lost + found["lost_unknown"] < 160, found
    assert found["lost_up"] > 0, found
    assert found["routers_up"] is not None


def test_a_server_that_waits_is_the_interpreter_and_the_compiled_module(home: Path) -> None:
    with serving(home, "--key", "test") as (_, server):
        resident = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text(), re.MULTILINE)
        loaded = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
    assert any("longfat.live.server" in word for word in loaded)
    assert resident
    assert int(resident[1]) < 20_000, "kB"
