"""The causes that `longfat trace` names, on captures of a kernel that no rule was made with (`tests/captures/README.md`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat.capture import Connection, write_capture
from longfat.capture import reader as trace

FOLDER = Path(__file__).parent / "captures"
KNOWN: dict[str, dict[str, Any]] = json.loads((FOLDER / "known.json").read_text(encoding="utf-8"))


def only(name: str) -> Connection:
    [connection] = trace.read(FOLDER / f"{name}.pcap.zst").connections
    return connection


# Causes that no capture tells apart. A buffer of four packets is a fifth of what this path holds, so it is a small buffer and a queue.
# A host slower than the path is a queue in another place. An application that offers as much as a send buffer holds keeps as much
# in flight. Nobody knows when a lost packet was sent behind the loss, so a policer may have taken it.
ALIKE = {
    "bursts-over-a-small-buffer": ["congestion, by loss"],
    "congestion-by-loss": ["receiver's ring"],
    "random-loss": ["policer"],
    "send-buffer": ["application"],
}

# Limits that are not what was done to the path: segments are overtaken, and the kernel takes its reductions back. It had 98 % of the path.
LIMITS = {"reordering": "a full path"}


@pytest.mark.parametrize("name", KNOWN)
def test_the_cause_is_named(name: str) -> None:
    found, known = only(name), KNOWN[name]
    assert found.capture_point == known["point"]
    assert found.verdict.cause == LIMITS.get(name, known["cause"]), found.verdict
    assert list(found.verdict.cannot_tell_from) == ALIKE.get(name, [])
    assert found.control.name in (known["control"], None), found.control


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_kernel_counted_is_found(name: str) -> None:
    found, kernel = only(name), KNOWN[name]["kernel"]
    # TCP_INFO was asked for when the writer stopped, some segments before the end.
    assert found.data.bytes_acked == pytest.approx(kernel["bytes_acked"], rel=0.15)
    assert found.rtt.min_s == pytest.approx(kernel["min_rtt"] / 1e6, rel=0.05)
    again = found.data.retransmitted
    # A late segment cannot be told, without timestamps, from a retransmission whose first copy was lost.
    late = again.lost_before_capture if name == "reordering" else 0
    assert again.segments - late == pytest.approx(kernel["retrans"], abs=3, rel=0.2)


@pytest.mark.parametrize("name", ["send-buffer", "congestion-by-loss", "policer", "a-full-path"])
def test_the_bottleneck_is_measured(name: str) -> None:
    found, known = only(name).bottleneck, KNOWN[name]
    assert found.rate_bps == pytest.approx(known["rate_bps"], rel=0.08)
    # Who is held by its send buffer never fills the path: trains say what it passes at least.
    assert found.is_lower_bound == (name == "send-buffer")
    assert found.rate_low_bps <= found.rate_bps <= (found.rate_high_bps or known["rate_bps"] * 1.08)


def test_the_buffer_is_measured() -> None:
    found, known = only("congestion-by-loss").bottleneck, KNOWN["congestion-by-loss"]
    assert found.queue_at_losses_bytes.median == pytest.approx(known["buffer_bytes"], rel=0.15)


def test_a_verdict_names_what_looks_the_same() -> None:
    loss, window = only("congestion-by-loss").verdict, only("receive-window").verdict
    # A ring that is slower than the path is the same queue, in another place.
    assert loss.confidence <= 0.51
    assert any("ring" in limit for limit in loss.limits)
    # 117 of 131 such verdicts were right: where the path changes, too, the window may limit as well.
    assert window.confidence > 0.85
    assert not window.limits


PATH = """
[path]
preset = "dumbbell"
pairs = 2
rtt = "60 ms"
bottleneck = {{ rate = "14 Mbit/s", {bottleneck} }}
edge = {{ rate = "1 Gbit/s" }}
[[flow]]
name = "main"
from = "left1"
to = "right1"
stack = "linux"
slow_start = "standard"
congestion_control = "reno"
traffic = "bulk"
{flow}
[[flow]]
name = "noise"
from = "left2"
to = "right2"
traffic = {{ kind = "on_off", rate = "700 kbit/s", on = "200 ms", off = "300 ms" }}
[measure]
duration = "12 s"
packets = "main"
"""


@pytest.mark.parametrize(
    ("cause", "bottleneck", "flow"),
    [
        ("policer", 'queue = { kind = "policer", rate = "7 Mbit/s", burst = "8 kB", limit = "4 bdp" }', ""),
        ("bursts over a small buffer", 'queue = { kind = "droptail", limit = "5 packets" }', ""),
        ("active queue management", 'queue = { kind = "red", limit = "4 bdp" }', ""),
        ("active queue management", 'queue = { kind = "codel" }', ""),
        ("active queue management", 'queue = { kind = "pie" }', ""),
        ("active queue management", 'queue = { kind = "fq_codel", ecn = false }', ""),
        (
            "reordering",
            'queue = { kind = "droptail", limit = "4 bdp" }, reorder = { probability = 0.02, by = "15 ms" }',
            'recovery = "sack"\nundo = false',
        ),
    ],
)
def test_the_cause_of_a_simulated_capture_is_named(tmp_path: Path, cause: str, bottleneck: str, flow: str) -> None:
    experiment = tmp_path / "one.toml"
    experiment.write_text('title = "one"\n' + PATH.format(bottleneck=bottleneck, flow=flow), encoding="utf-8")
    longfat.load(str(experiment)).sweep(tmp_path / "one", jobs=1)
    write_capture(tmp_path / "one", "left1", tmp_path / "one.pcapng", snap=96)
    [connection] = trace.read(tmp_path / "one.pcapng").connections
    # (A queue of five packets is a small buffer, and congestion.)
    verdict = connection.verdict
    assert cause == verdict.cause or cause in verdict.cannot_tell_from, verdict
    assert (verdict.cause == "policer") == (cause == "policer"), verdict
