"""The causes that `longfat trace` names, on captures of a kernel that no rule was made with (`tests/captures/README.md`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from longfat import trace

FOLDER = Path(__file__).parent / "captures"
KNOWN: dict[str, dict[str, Any]] = json.loads((FOLDER / "known.json").read_text(encoding="utf-8"))


def only(name: str) -> dict[str, Any]:
    [connection] = trace.read(FOLDER / f"{name}.pcap.zst")["connections"]
    return connection


# What no capture tells apart: a buffer of four packets is a fifth of what this path holds, so it is a small buffer and a queue; a host
# slower than the path is a queue in another place; an application that offers as much as a send buffer holds keeps as much in flight.
ALIKE = {
    "bursts-over-a-small-buffer": ["congestion, by loss"],
    "congestion-by-loss": ["receiver's ring"],
    "send-buffer": ["application"],
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_cause_is_named(name: str) -> None:
    found, known = only(name), KNOWN[name]
    assert found["capture_point"] == known["point"]
    assert found["verdict"]["cause"] == known["cause"], found["verdict"]
    assert found["verdict"]["cannot_tell_from"] == ALIKE.get(name, [])
    assert found["control"]["name"] in (known["control"], None), found["control"]


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_kernel_counted_is_found(name: str) -> None:
    found, kernel = only(name), KNOWN[name]["kernel"]
    # TCP_INFO was asked for when the writer stopped, some segments before the end.
    assert found["data"]["bytes_acked"] == pytest.approx(kernel["bytes_acked"], rel=0.15)
    assert found["rtt"]["min_s"] == pytest.approx(kernel["min_rtt"] / 1e6, rel=0.05)
    again = found["data"]["retransmitted"]
    # What comes late to the receiver is not told from what was sent again and lost the first time, without timestamps.
    late = again["lost_before_capture"] if name == "reordering" else 0
    assert again["segments"] - late == pytest.approx(kernel["retrans"], abs=3, rel=0.2)


@pytest.mark.parametrize("name", ["send-buffer", "congestion-by-loss", "policer", "a-full-path"])
def test_the_bottleneck_is_measured(name: str) -> None:
    found, known = only(name)["bottleneck"], KNOWN[name]
    assert found["rate_bps"] == pytest.approx(known["rate_bps"], rel=0.08)
    assert found["rate_low_bps"] <= found["rate_bps"] <= found["rate_high_bps"]


def test_the_buffer_is_measured() -> None:
    found, known = only("congestion-by-loss")["bottleneck"], KNOWN["congestion-by-loss"]
    assert found["queue_at_losses_bytes"]["median"] == pytest.approx(known["buffer_bytes"], rel=0.15)


def test_a_verdict_names_what_looks_the_same() -> None:
    loss, window = only("congestion-by-loss")["verdict"], only("receive-window")["verdict"]
    # A ring that is slower than the path is the same queue, in another place.
    assert loss["confidence"] <= 0.51
    assert any("ring" in limit for limit in loss["limits"])
    assert window["confidence"] > 0.9
    assert not window["limits"]
