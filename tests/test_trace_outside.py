"""Captures of others, cut, with addresses replaced and payload removed: what each shows is known, and was once read otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import command
from longfat.capture import Connection
from longfat.capture import reader as trace

FOLDER = Path(__file__).parent / "captures" / "outside"


def only(name: str) -> Connection:
    [connection] = trace.read(FOLDER / f"{name}.pcap.zst").connections
    return connection


def told(name: str) -> dict[str, Any]:
    [connection] = json.loads(command("trace", "--json", str(FOLDER / f"{name}.pcap.zst")).stdout)["connections"]
    return connection


@pytest.mark.parametrize("late", ["1ms", "20us"])
def test_a_capture_with_each_packet_twice_is_that_with_each_once(late: str) -> None:
    once, twice = told("mirror-once"), told(f"mirror-twice-{late}")
    assert once.pop("copies") is None
    assert twice.pop("copies")["samples"] == 470  # every packet of the other
    assert [note for note in twice.pop("notes") if "are copies of others" not in note] == once.pop("notes")
    assert twice == once


def test_copies_of_a_real_mirror_are_no_retransmissions() -> None:
    found = told("mirror-twice-real")
    assert found["copies"]["samples"] == 266
    assert found["data"]["retransmitted"]["segments"] == 0


def test_a_host_that_was_late_in_the_handshake_makes_no_round_trip() -> None:
    found = only("late-third-ack")
    assert found.rtt.min_s < 0.005  # 52 ms by the third packet, where data follow an ACK in 1.8 ms
    assert found.data.flight_max_bytes <= 4096  # all that was advertised


def test_a_clock_of_10_ms_measures_no_bottleneck() -> None:
    found = only("clock-of-10ms")
    assert found.data.goodput_bps == pytest.approx(94.2e6, rel=0.01)
    assert found.bottleneck is None or found.bottleneck.rate_bps is None or found.bottleneck.rate_bps >= found.data.goodput_bps


def test_acks_in_bursts_are_not_faster_than_the_line_and_a_probe_is_no_timeout() -> None:
    found = only("window-probes")
    assert found.bottleneck
    assert found.bottleneck.rate_bps
    assert found.bottleneck.rate_bps <= 100e6  # it was 1.95 Gb/s
    assert found.data.timeouts == 0
