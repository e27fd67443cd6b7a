"""A measured path as an experiment: from made-up measurements, and from simulated ones of paths that are known."""

from __future__ import annotations

from dataclasses import replace

import longfat
import pytest
from longfat.live.seen import HEADERS, MTU, STANDS_S, Facts, seen

FULL = Facts(
    duration_s=10.0,
    rates_bps=[18e6, *[19.3e6] * 9],
    rtt_s=0.0401,
    idle_p95_s=1e-4,
    loaded_p95_s=0.0385,
    loaded_p99_s=0.04,
    retransmitted_bytes=30e3,
    loss=1e-3,
    waits_s=0.03,
    excess_bytes=120e3,
    peak_bps=25e6,
    cause="congestion, by loss",
    is_held=False,
    in_flight_bytes=190e3,
    control="cubic",
)


def test_a_path_that_was_filled_each_way_is_known() -> None:
    path = seen("dtn.example.org", "2026-11-27 23:00", FULL, replace(FULL, rates_bps=[9.65e6] * 8, loaded_p99_s=0.08, control="reno"))
    assert path.unknown == []
    up, down = longfat.Experiment(path.text).sweep()
    assert (up.labels["direction"], down.labels["direction"]) == ("up", "down")
    # The link is busy, and its payload is the goodput that was measured.
    for run, goodput in ((up, 19.3e6), (down, 9.65e6)):
        assert abs(run.metrics["goodput_total_bps"] / goodput - 1) < 0.02
    assert set(up.flows["congestion_control"]) == {"cubic"}
    assert set(down.flows["congestion_control"]) == {"reno"}
    limit = 0.04 * 19.3e6 * MTU / (MTU - HEADERS) / 8
    assert f'limit = "{limit:.0f} bytes"' in path.text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"is_held": True}, "a window or a buffer of a host held the flow"),
        ({"loaded_p95_s": 0.9 * STANDS_S}, "no queue stood under load"),
        ({"idle_p95_s": 0.02}, "no queue stood under load"),
        ({"idle_p95_s": float("nan"), "loaded_p95_s": float("nan"), "loaded_p99_s": float("nan")}, "no probe came through"),
    ],
)
def test_a_direction_that_was_not_filled_is_unknown(changed: dict[str, float], reason: str) -> None:
    path = seen("dtn", "today", FULL, replace(FULL, **changed))
    assert path.unknown == [f"rate down: {reason}", f"buffer down: {reason}"]
    assert path.text.count("unknown = [") == 2
    # It is a file for `longfat fit`: to run it says which values are unknown.
    with pytest.raises(longfat.LongfatError, match="unknown"):
        longfat.Experiment(path.text).sweep()


def test_a_buffer_that_lost_nothing_was_never_seen_full() -> None:
    path = seen("dtn", "today", replace(FULL, retransmitted_bytes=0.0), FULL)
    assert path.unknown == ["buffer up: nothing was lost, so it was never seen full"]


def test_a_hostile_name_of_a_host_stays_in_its_title() -> None:
    path = seen('x"\n[[flow]]\nname = "y', "today", FULL, FULL)
    assert len(longfat.Experiment(path.text).resolve(0).execute().tables()["flows"]["flow"]) == 1
