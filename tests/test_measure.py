"""The command `longfat measure` without a network: its runs, what it prints of each, and how it goes on where one fails."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from longfat.cli import measure as verb
from longfat.errors import LongfatError, LostError, Stopped
from longfat.live import greeting, ways
from longfat.report import terminal
from longfat.results import Result

MISSING = [SimpleNamespace(name="not_captured", text="the other host captured nothing")]


def result(direction: str, cut_by: float = 0.0, *, captured: bool = False, **real_time: float) -> Result:
    """10 Mbit/s with an idle round trip of 20 ms, and 30 ms under load; `captured` at its sender alone."""
    packets = {"limited_by_at_sender": "policer", "limited_by_at_sender_confidence": 0.75} if captured else {}
    flow = {
        "goodput_bps": 10e6,
        "rtt_p50_s": 0.031,
        "rtt_mean_s": 0.030,
        "bytes_sent": 100.0,
        "bytes_retransmitted": 1.0,
        "limited_by": "a full path",
        "limited_by_confidence": 0.9,
        **packets,
    }
    metrics = {f"tcp_efficiency_{direction}": 0.99, f"buffer_delay_{direction}": 0.5, "queue_delay_up_p95_s": 0.01}
    made = SimpleNamespace(
        flows=pd.DataFrame([flow]),
        metrics=metrics,
        real_time={"base_rtt_before_s": 0.02, "cut_by": cut_by, **real_time},
        warnings=[SimpleNamespace(name="suspect", text="the path changed"), *(MISSING if captured else [])],
        verdict="suspect",
    )
    return cast("Result", made)


Runs = list[str]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The phases that were run."""
    done: Runs = []

    def run(
        host: str,
        phase: str,
        key: str | None,
        seconds: float,
        control: str | None,
        tick: Callable[[float], object],
        watch: Any = None,
        *,
        capture: bool = False,
    ) -> Any:
        done.append(phase)
        tick(0.5)
        if watch:
            watch(seconds, [(0, True, 0, {})])
        return {direction: result(direction, captured=capture) for direction in (ways.DIRECTIONS if phase == "both" else (phase,))}, None

    monkeypatch.setattr(verb, "run", run)
    monkeypatch.setattr(greeting, "greet", lambda host, key, seconds: answer(seconds))
    return done


def answer(asked_s: int, rtt_s: float = 0.09, granted_s: int = 3600, bytes: int = 1 << 42, rate_bps: float = math.inf) -> greeting.Greeting:
    """The word of a server that is 90 ms away."""
    return greeting.Greeting({"up": "cubic", "down": "cubic"}, rtt_s, min(granted_s, asked_s), bytes, rate_bps)


def test_up_down_and_both_at_once_are_measured(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    verb.measure_command("dtn", as_json=True)
    made = json.loads(capsys.readouterr().out)
    assert runs == ["up", "down", "both"]
    assert set(made) == {"host", "seconds", "nat", "up", "down", "both"}
    assert made["nat"] == {"tcp_port": None, "udp_port": None}
    assert set(made["both"]) == {"up", "down"}
    assert made["both"]["down"] == made["down"]
    assert made["up"]["one_way_delay_most_s"] == made["up"]["rtt_idle_s"] == 0.02
    assert made["up"]["loaded_rtt_per_minute"] == pytest.approx(2000)
    assert (made["up"]["tcp_efficiency"], made["up"]["buffer_delay"], made["up"]["transfer_time_ratio"]) == (0.99, 0.5, None)


def test_the_first_screen_has_both_runs_and_bounds_the_one_way_delay(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "out", terminal.console())
    monkeypatch.setattr(verb, "err", terminal.console(stderr=True))
    verb.measure_command("dtn")
    said = capsys.readouterr()
    assert said.out.index("One flow each way, 27 s (300 round trips of 90 ms), to dtn:") < said.out.index("Both at once, 27 s:")
    assert said.out.count("up   10.0 Mbit/s; RTT 20.0 ms idle") == said.out.count("down 10.0 Mbit/s; RTT 20.0 ms idle") == 2
    assert said.out.count("2,000 TCP round trips per minute (not RPM)") == 4
    assert said.out.count("One-way delay without queues: 0 to 20.0 ms each way; the clocks are not compared") == 1
    # A reason that both flows of a run share is said once.
    assert [line.strip() for line in said.err.splitlines()] == [f"{phase}: the path changed (suspect)" for phase in ways.PHASES]
    assert runs == list(ways.PHASES)


def test_nat_is_named_by_the_ports_that_the_far_host_sees() -> None:
    for ports, line in (((40012.0, 0.0), "TCP at port 40012 ("), ((40012.0, 40013.0), "TCP at port 40012 and UDP at port 40013 (")):
        made = {"up": {"up": result("up", nat_port=ports[0], nat_udp_port=ports[1])}}
        seen = verb.translated(verb.real_time(made))
        assert seen == (ports[0], ports[1] or None)
        assert f"the far host sees this one's {line}" in verb.nat_line(seen)
    assert verb.translated(verb.real_time({})) == verb.translated(verb.real_time({"up": {"up": result("up")}})) == (None, None)


def test_synchronised_clocks_tell_each_direction() -> None:
    names = ("up", "down", "error", "error_max")
    real = {f"one_way_delay_{name}_s": value for name, value in zip(names, (0.004, 0.006, 1e-5, 5e-4), strict=True)}
    assert verb.one_way(0.01, real) == (
        "One-way delay without queues: 4.00 ms up, 6.00 ms down; both hosts are synchronised, and put the error at 0.01 ms, 0.50 ms at most"
    )
    unknown = dict.fromkeys(real, 0.0)
    bound = "One-way delay without queues: 0 to 10.0 ms each way; the clocks are not compared"
    assert verb.one_way(0.01, unknown) == verb.one_way(0.01, {}) == bound


def test_captures_are_shown_beside_the_samples(runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "out", terminal.console())
    monkeypatch.setattr(verb, "err", terminal.console(stderr=True))
    verb.measure_command("dtn", only=[verb.Phase("up")], capture=True)
    said = capsys.readouterr()
    lines = [line.strip() for line in said.out.splitlines()]
    place = lines.index("limited by: a full path, 90 % sure")
    assert lines[place + 1] == "by its packets: policer at the sender, 75 % sure"
    assert said.err.count("the other host captured nothing") == 1
    verb.measure_command("dtn", only=[verb.Phase("up")], capture=True, as_json=True)
    made = json.loads(capsys.readouterr().out)["up"]
    assert (made["limited_by_at_sender"], made["limited_by_at_receiver"], made["limited_by_at_receiver_confidence"]) == (
        "policer",
        "",
        None,
    )
    for wrong, asked in (("--history", {"kept": Path("seen.jsonl")}), ("--capture: needs", {})):
        with pytest.raises(LongfatError, match=wrong):
            verb.measure_command("iperf3://dtn" if not asked else "dtn", capture=True, **asked)


def test_directions_are_chosen_and_kept_in_their_order(runs: Runs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    verb.measure_command("dtn", only=[verb.Phase("both"), verb.Phase("down")], as_json=True)
    assert runs == ["down", "both"]
    assert set(json.loads(capsys.readouterr().out)) == {"host", "seconds", "nat", "down", "both"}
    with pytest.raises(LongfatError, match="needs a flow up and one down"):
        verb.measure_command("dtn", only=[verb.Phase("both")], to=tmp_path / "seen.toml")
    with pytest.raises(LongfatError, match="is iperf3"):
        verb.measure_command("iperf3://dtn", only=[verb.Phase("both")])


def test_a_run_that_fails_or_is_stopped_keeps_those_before_it(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = verb.run

    def fails(host: str, phase: str, *more: Any, **asked: Any) -> Any:
        if phase == "both":
            raise LongfatError("dtn: gone")
        return whole(host, phase, *more, **asked)

    monkeypatch.setattr(verb, "run", fails)
    with pytest.raises(LongfatError, match="not whole: dtn: gone"):
        verb.measure_command("dtn", as_json=True)
    assert set(json.loads(capsys.readouterr().out)) == {"host", "seconds", "nat", "up", "down"}

    def cut(host: str, phase: str, *more: Any, **asked: Any) -> Any:
        return {direction: result(direction, cut_by=float(phase == "down")) for direction in whole(host, phase, *more, **asked)[0]}, None

    def lost(host: str, phase: str, *more: Any, **asked: Any) -> Any:
        return whole(host, phase, *more, **asked)[0], LostError("dtn: silent") if phase == "down" else None

    monkeypatch.setattr(verb, "run", lost)
    with pytest.raises(LongfatError, match="not whole: dtn: silent"):
        verb.measure_command("dtn", as_json=True)
    assert set(json.loads(capsys.readouterr().out)) == {"host", "seconds", "nat", "up", "down"}
    runs.clear()

    monkeypatch.setattr(verb, "run", cut)
    runs.clear()
    with pytest.raises(Stopped, match="in the run 'down'"):
        verb.measure_command("dtn", as_json=True)
    assert runs == ["up", "down"]
    assert set(json.loads(capsys.readouterr().out)) == {"host", "seconds", "nat", "up", "down"}


def test_a_run_that_was_stopped_in_its_warmup_has_no_rate() -> None:
    cut = result("up", cut_by=1.0)
    cut.flows["goodput_bps"] = math.nan
    cut.flows["rtt_p50_s"] = math.nan
    made = ways.way("up", cut)
    assert made.window_bytes == 0
    assert verb.line(made) == "rate unknown: stopped too early; RTT 20.0 ms idle, unknown under load; 1.000 % retransmitted"
    record = {"time": "2026-11-28T03:00:00+00:00", "up": verb._told("up", [made])}
    assert verb.history.line(record) == "2026-11-28 03:00: RTT 20.0 ms idle"


@pytest.mark.parametrize(
    ("rtt_s", "asked_s", "words"),
    [
        (0.09, None, "27 s (300 round trips of 90 ms)"),
        (0.0901, None, "28 s (311 round trips of 90.1 ms)"),
        (0.02, None, "10 s (500 round trips of 20 ms)"),
        (0.00003, None, "10 s (over 300 round trips)"),
        (0.4, None, "40 s (100 round trips of 400 ms)"),
        (math.nan, None, "10 s (the round trip is unknown)"),
        (0.4, 12, "12 s"),
    ],
)
def test_a_run_is_as_long_as_its_path_needs(rtt_s: float, asked_s: int | None, words: str) -> None:
    made = greeting._length("dtn", answer(asked_s or 40, rtt_s), asked_s)
    assert (made.words, made.limit) == (words, "")


def test_a_server_that_grants_less_is_obeyed() -> None:
    made = greeting._length("dtn", answer(40, granted_s=13), None)
    assert made.words == "13 s (144 round trips of 90 ms)"
    assert made.limit == "dtn grants 13 of 27 s: its limit `seconds` allows no more"
    assert greeting._length("dtn", answer(30, granted_s=13), 30).words == "13 s"
    # 1 GB at 1 Gbit/s last 8 s: no second is left for probes.
    made = greeting._length("dtn", answer(40, bytes=10**9, rate_bps=1e9), None)
    assert (made.seconds, made.limit) == (7, "dtn grants 7 of 27 s: its limits `bytes` and `rate` allow no more")
    assert greeting._length("dtn", answer(40, granted_s=0), None).seconds == greeting.LEAST_S


def test_the_limit_of_a_server_is_said_once(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(greeting, "greet", lambda host, key, seconds: answer(seconds, granted_s=13))
    monkeypatch.setattr(verb, "err", terminal.console(stderr=True))
    monkeypatch.setattr(verb.history, "path_of", lambda result: {})
    monkeypatch.setattr(verb.time, "sleep", lambda seconds: raises() if len(runs) > 3 else None)

    def raises() -> None:
        raise KeyboardInterrupt

    with pytest.raises(Stopped, match="2 measurements"):
        verb.measure_command("dtn", every="1s", kept=tmp_path / "a.jsonl")
    assert capsys.readouterr().err.count("dtn grants 13 of 27 s") == 1
    assert [json.loads(line)["seconds"] for line in (tmp_path / "a.jsonl").read_text().splitlines()] == [13, 13]


@pytest.mark.parametrize(("is_terminal", "as_json", "is_shown"), [(True, False, True), (True, True, False), (False, False, False)])
def test_the_time_left_is_shown_on_a_terminal_alone(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, as_json: bool, is_shown: bool
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(verb, "out", terminal.Terminal(file=io.StringIO()))
    monkeypatch.setattr(verb, "err", terminal.Terminal(file=written, force_terminal=is_terminal, width=100))
    verb.measure_command("dtn", as_json=as_json)
    assert ("measuring" in written.getvalue()) == is_shown
    assert ("left:" in written.getvalue()) == is_shown


def test_the_bar_counts_all_runs_and_the_bursts_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[float] = []

    class Bar:
        def __init__(self, *_: Any, **more: Any) -> None: ...
        def __enter__(self) -> Callable[[float], object]:
            return heard.append

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(terminal, "share_bar", Bar)
    with verb._bar(ways.PHASES, greeting.Length(10), survey_s=12.0) as ticks:
        for phase in ways.PHASES:
            ticks[phase](0.0)
            ticks[phase](1.0)
    # 12 s of bursts, and three runs of 10 s and 8 s around each.
    assert heard == pytest.approx([part / 66 for part in (12, 30, 30, 48, 48, 66)])
