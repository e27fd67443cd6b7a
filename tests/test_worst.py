"""The search for the worst path."""

from __future__ import annotations

import tomllib
from pathlib import Path

import longfat
import pytest
from conftest import command
from evaluate_mutants import Right
from longfat.evaluate import show
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.rules import FAILS
from longfat.evaluate.startups import STARTUPS
from longfat.evaluate.worst import Worst, searchable, worst_path, worst_path_of_queue, worst_path_of_startup
from longfat.extras import EXTRAS

for _module in EXTRAS["fit"]:
    pytest.importorskip(_module)

SLOW_LINKS = {"rate": ("1 Mbit/s", "4 Mbit/s"), "rtt": ("10 ms", "80 ms"), "peers": ("1", "4")}
"""Ranges whose runs take a second together."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Worst:
    folder = tmp_path_factory.mktemp("worst")
    return worst_path("bbr", "harm-one", ranges=SLOW_LINKS, paths=32, against=["reno"], quick=True, folder=folder)


def test_it_is_the_worst_of_those_that_were_tried(found: Worst) -> None:
    assert len(found.tried) == 32
    bad = [path.badness for path in found.tried]
    assert bad == sorted(bad, reverse=True)
    # BBR takes over where the buffer is shallow (Hock, Bless and Zitterbart, ICNP 2017): some path shows it.
    worst = found.tried[0]
    assert worst.badness == pytest.approx(worst.own.mean - worst.others["reno"].mean)
    assert worst.badness > 0.3
    again = found.confirmed
    assert again.verdict == FAILS
    assert again.own.low > again.others["reno"].high
    assert again.own.half < 0.15


def test_paths_are_within_the_ranges(found: Worst) -> None:
    one = tomllib.loads(found.experiment)
    bottleneck = one["path"]["bottleneck"]
    assert 1.0 <= float(bottleneck["rate"].removesuffix(" Mbit/s")) <= 4.0
    assert 10.0 <= float(one["path"]["rtt"].removesuffix(" ms")) <= 80.0
    assert int(bottleneck["queue"]["limit"].removesuffix(" packets")) >= 2
    assert 1e-6 <= bottleneck["loss"]["probability"] <= 0.01
    assert bottleneck["reverse"] == {"loss": "none"}
    assert 1 <= one["flow"][1]["count"] <= 4


def test_the_path_runs_alone_and_gives_the_same(found: Worst) -> None:
    alone = longfat.Experiment(found.experiment)
    assert alone.axes == {}
    assert alone.run_count == 10
    beside = alone.sweep()
    alone["flow[0].count"] = 0
    by_itself = alone.sweep()
    rates = [results.flows.groupby("repeat").apply(_of_peers).tolist() for results in (by_itself, beside)]
    harm = [max(0.0, 1 - less / more) for more, less in zip(*rates, strict=True)]
    assert sum(harm) / 10 == pytest.approx(found.confirmed.own.mean)


def _of_peers(flows: object) -> float:
    return float(flows[flows["group"] == "peer"]["goodput_bps"].mean())  # type: ignore[index]


def test_the_same_search_finds_the_same(found: Worst, tmp_path: Path) -> None:
    again = worst_path("bbr", "harm-one", ranges=SLOW_LINKS, paths=32, against=["reno"], quick=True, folder=tmp_path)
    assert show.worst_as_json(again) == show.worst_as_json(found)


def test_every_criterion_that_can_be_searched_has_a_path_to_change() -> None:
    known = {one.name for one in CONTROLS.criteria if searchable(CONTROLS, one)}
    assert {"harm-one", "harm-one-in-4", "alike", "own-loss", "late-comer", "gets"} <= known
    assert not {"rate-use", "aqm-delay", "ecn-use", "policer-loss", "outage", "bufferbloat", "unequal-rtts"} & known
    for name in ("rate-use", "aqm-delay"):
        with pytest.raises(longfat.LongfatError, match=f"no path can be searched for criterion '{name}': choose among .*harm-one"):
            worst_path("cubic", name)


def test_queues_and_starts_are_searched_on_plain_paths() -> None:
    assert {"delay", "use", "long-use", "levels-delay", "mix-web", "two-way"} <= {
        one.name for one in QUEUES.criteria if searchable(QUEUES, one)
    }
    assert {one.name for one in STARTUPS.criteria if searchable(STARTUPS, one)} == {
        "completion",
        "request",
        "overshoot",
        "harm-long",
        "harm-call",
    }
    for search, name, wrong in (
        (worst_path_of_queue, "codel", ("rate-delay", "rtt-fairness", "sensitive-use", "row-delay", "next-use")),
        (worst_path_of_startup, "suss", ("jitter", "radio", "long-fat")),
    ):
        for criterion in wrong:
            with pytest.raises(longfat.LongfatError, match=f"no path can be searched for criterion '{criterion}': choose among "):
                search(name, criterion)
    with pytest.raises(longfat.LongfatError, match="there is no range 'buffer': choose among rate, rtt, loss"):
        worst_path_of_queue("codel", "use", ranges={"buffer": ("1", "2")})
    with pytest.raises(longfat.LongfatError, match="there is no queue 'coddel': did you mean 'codel'"):
        worst_path_of_queue("coddel", "use")


def test_the_worst_path_of_a_queue_is_one_on_which_it_is_idle(tmp_path: Path) -> None:
    # CoDel leaves long paths idle (RFC 8511): the search finds one beside drop-tail.
    given = {"rate": ("2 Mbit/s", "4 Mbit/s"), "loss": ("0.000001", "0.00001")}
    found = worst_path_of_queue("codel", "long-use", {"target": "1 ms"}, ranges=given, paths=16, quick=True, folder=tmp_path)
    assert (found.suite, found.name, len(found.tried)) == (QUEUES, "codel target=1 ms", 16)
    assert found.confirmed.own.mean < 0.9 * found.confirmed.others["droptail"].mean
    one = tomllib.loads(found.experiment)
    assert one["path"]["bottleneck"]["queue"] == {"kind": "codel", "target": "1 ms"}
    assert 20.0 <= float(one["path"]["rtt"].removesuffix(" ms")) <= 300.0
    assert longfat.Experiment(found.experiment).axes == {}
    assert show.worst_as_json(found)["queue"] == "codel target=1 ms"


def test_the_worst_path_of_a_start_has_the_window_of_its_path() -> None:
    given = {"rate": ("4 Mbit/s", "16 Mbit/s"), "rtt": ("50 ms", "100 ms"), "loss": ("0.000001", "0.00001")}
    found = worst_path_of_startup("standard", "overshoot", ranges=given, paths=16, against=["hystart++"], quick=True)
    assert found.suite is STARTUPS
    assert found.confirmed.own.mean > found.confirmed.others["hystart++"].mean
    one = tomllib.loads(found.experiment)
    rate, rtt = (float(one["path"]["bottleneck"]["rate"].split()[0]), float(one["path"]["rtt"].split()[0]))
    assert one["flow"][0]["slow_start"] == "standard"
    assert one["flow"][0]["saved_cwnd"] == f"{round(rate * 1e6 * rtt * 1e-3 / 8 / 1500)} segments"


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({"speed": ("1", "2")}, "there is no range 'speed': choose among rate, rtt, buffer, loss, peers"),
        ({"rate": ("1 ms", "2 ms")}, "range rate: '1 ms' is not such as '1 Mbit/s'"),
        ({"loss": ("0", "0.1")}, "range loss: '0' is not such as '0.000001'"),
        ({"rtt": ("20 ms", "20 ms")}, "range rtt: 20 ms is not below 20 ms"),
    ],
)
def test_ranges_that_cannot_be(ranges: dict[str, tuple[str, str]], expected: str) -> None:
    with pytest.raises(longfat.LongfatError) as caught:
        worst_path("cubic", "harm-one", ranges=ranges)
    assert str(caught.value) == expected


def test_a_criterion_without_peers_has_no_range_of_them() -> None:
    with pytest.raises(longfat.LongfatError, match="there is no range 'peers': choose among rate, rtt, buffer, loss"):
        worst_path("cubic", "own-loss", ranges={"peers": ("1", "2")})


@longfat.congestion_control
class RaisesInSearch(Right):
    """Raises where no first look finds it."""

    def on_congestion(self, event: longfat.Congestion) -> None:
        """Knows a single loss alone."""
        if event.now > 6.0:
            raise KeyError(event.kind)
        super().on_congestion(event)


def test_a_control_that_raises_in_search_is_said_to() -> None:
    with pytest.raises(longfat.LongfatError, match=r"raises_in_search raised KeyError: '.*' on a path of the search"):
        worst_path(RaisesInSearch, "own-loss", ranges={"rate": ("1 Mbit/s", "2 Mbit/s")}, paths=16, against=["reno"], quick=True)


@pytest.mark.slow
def test_the_command_prints_the_worst_and_writes_its_path(tmp_path: Path) -> None:
    words = ("evaluate", "control", "bbr", "--worst", "harm-one", "--against", "reno", "--quick", "--paths", "16")
    done = command(*words, "--range", "rate=1 Mbit/s..2 Mbit/s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bbr, goodput that one takes from one: the worst of 16 paths" in done.stdout
    assert "again, with other seeds: " in done.stdout
    file = tmp_path / "results" / "quick" / "evaluate" / "worst" / "control" / "bbr" / "harm-one.toml"
    assert tomllib.loads(file.read_text())["repeats"] == 10
    for wrong, expected in (
        (("--worst", "harm-one", "--range", "rate"), "--range rate: write KEY=LOW..HIGH"),
        (("--range", "rate=1..2"), "a range is for --worst"),
    ):
        assert expected in command("evaluate", "control", "reno", *wrong, cwd=tmp_path).stderr
        assert expected in command("evaluate", "queue", "codel", *wrong, cwd=tmp_path).stderr
    assert "choose among completion" in command("evaluate", "startup", "suss", "--worst", "radio", cwd=tmp_path).stderr
