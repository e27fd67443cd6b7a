"""A congestion control written in Python: a member of the sender's own mechanism, found by name, told apart by its source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import longfat
import pytest
from conftest import SWEEP
from longfat import CongestionControl, Experiment, LongfatError, StorageError
from longfat.store import Store

ONE = SWEEP.replace('window = { sweep = ["8 KiB", "16 KiB", "64 KiB"] }', 'congestion_control = "CONTROL"')


def by(control: str) -> Experiment:
    return Experiment(ONE.replace("CONTROL", control))


@longfat.congestion_control
class ScalableToo:
    """Scalable, as Kelly wrote it, in Python."""

    def on_ack(self, ack: longfat.Ack) -> None:
        """Grows as crates/tcp/src/congestion/scalable.rs does."""
        if not ack.cwnd_limited or self.window.slow_start(ack):
            return
        if self.window.cwnd <= 16 * self.window.mss:
            self.window.increase(ack, 1.0)
        else:
            self.window.grow(0.01 * self.window.acked_segments(ack) * self.window.mss)

    def on_congestion(self, event: longfat.Congestion) -> None:
        """An eighth, or half within the legacy window."""
        self.window.reduce(event, 0.5 if self.window.cwnd <= 16 * self.window.mss else 0.875)

    window: longfat.Window


def test_what_is_written_in_python_does_what_it_does_in_rust() -> None:
    ours, own = by("scalable_too").run(), by("scalable").run()
    for name in ("flows", "links", "flow_series", "events"):
        table, other = getattr(ours, name), getattr(own, name)
        assert table.drop(columns="congestion_control", errors="ignore").equals(other.drop(columns="congestion_control", errors="ignore"))
    assert set(ours.flows["congestion_control"]) == {"scalable_too"}
    assert ours.flows["fast_retransmits"].sum() > 0


def test_it_is_deterministic_on_any_number_of_threads(tmp_path: Path) -> None:
    sweep = ONE.replace('"CONTROL"', '{ sweep = ["scalable_too", "reno"] }').replace("count = 2", "count = { sweep = [1, 2, 3] }")
    tables = [Experiment(sweep).sweep(jobs=jobs).flows for jobs in (1, 4)]
    assert tables[0].equals(tables[1])


def test_it_conforms_and_what_does_not_is_told() -> None:
    promises = longfat.conformance(ScalableToo)
    assert len(promises) > 5
    assert all(promise.kept for promise in promises)
    assert all(promise.kept for promise in longfat.conformance("cubic"))

    @longfat.congestion_control
    class Stubborn:
        window: longfat.Window

        def on_ack(self, ack: longfat.Ack) -> None:
            self.window.slow_start(ack)

        def on_congestion(self, event: longfat.Congestion) -> None:
            pass

    broken = [promise for promise in longfat.conformance(Stubborn) if not promise.kept]
    assert any(promise.name.startswith("shrinks on loss") and "a loss at a cwnd of" in promise.why for promise in broken)


def test_its_source_is_part_of_the_identity_of_a_run(tmp_path: Path) -> None:
    def define(factor: str) -> str:
        body = f"""
            @longfat.congestion_control(name="variable")
            class Variable:
                def on_ack(self, ack):
                    self.window.slow_start(ack) or self.window.increase(ack, 1.0)
                def on_congestion(self, event):
                    self.window.reduce(event, {factor})
        """
        names: dict[str, Any] = {"longfat": longfat}
        exec(compile("if True:" + body, "<test>", "exec"), names)
        return by("variable").resolve(0).hash

    one, other, again = define("0.5"), define("0.75"), define("0.5")
    assert one == again != other
    assert '"source":"Python, sha256 ' in by("variable").resolve(0).resolved


def test_results_outlive_the_module_that_defines_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import longfat\n@longfat.congestion_control\nclass Mine:\n"
        "    def on_ack(self, ack):\n        self.window.slow_start(ack) or self.window.increase(ack, 1.0)\n"
        "    def on_congestion(self, event):\n        self.window.reduce(event, 0.5)\n"
    )
    (tmp_path / "one.toml").write_text(ONE.replace("CONTROL", "mine"))
    script = "import mine, longfat; longfat.load('one.toml').sweep('results')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    # This process knows no `mine`: its results are read, its metrics computed, and it cannot be run.
    result = longfat.load_results(tmp_path / "results")[0]
    assert set(result.flows["congestion_control"]) == {"mine"}
    assert result.metrics["goodput_total_bps"] > 0
    with pytest.raises(longfat.ExperimentError, match="`mine` is not in this process: import the module"):
        by("mine").run()


def test_what_a_hook_raises_ends_the_run() -> None:
    @longfat.congestion_control
    class Raises:
        window: longfat.Window

        def on_ack(self, ack: longfat.Ack) -> None:
            raise ZeroDivisionError("on purpose")

        def on_congestion(self, event: longfat.Congestion) -> None:
            pass

    for run in (
        lambda: by("raises").run(),
        lambda: longfat.Simulation(by("raises")).advance(5),
        lambda: longfat.Simulation(by("raises")).finish(),
        lambda: CongestionControl("raises").on_ack(rtt=0.1),
        lambda: longfat.conformance(Raises),
    ):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            run()
    assert by("reno").run().metrics["goodput_total_bps"] > 0  # and the next run is none the wiser


@pytest.mark.parametrize("hook", ["__init__", "on_established", "on_ack", "on_recovered", "on_spurious", "on_restart", "on_syn_loss"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("pacing_rate", float("nan"), "pacing_rate = nan: expected bits per second, from 1 to 1e14, or None"),
        ("pacing_rate", float("inf"), "pacing_rate = inf: expected bits"),
        ("pacing_rate", -5, "pacing_rate = -5: expected bits"),
        ("pacing_rate", 0, "pacing_rate = 0: expected bits"),
        ("pacing_rate", "x", "pacing_rate = 'x': expected bits"),
        ("window", None, "window = None: expected the `longfat.Window` that was there"),
        ("window.cwnd", "x", "cwnd = 'x': expected bytes"),
        ("window.ssthresh", [], r"ssthresh = \[\]: expected bytes, or None"),
    ],
)
def test_what_a_hook_sets_and_makes_no_sense_is_an_error(hook: str, name: str, value: object, message: str) -> None:
    def wrong(self: object, *_: object) -> None:
        *place, attribute = name.split(".")
        setattr(getattr(self, place[0]) if place else self, attribute, value)

    # Values that no hook sets at first are read all the same.
    hooks = {"on_ack": lambda self, ack: None, "on_congestion": lambda self, event: None} | {hook: wrong}
    longfat.congestion_control(name="wrong")(type("Wrong", (), hooks))

    def drive() -> None:
        control = CongestionControl("wrong")
        control.on_ack(rtt=0.1)
        control.on_recovered()
        control.on_spurious()
        control.on_restart(1.0)
        control.on_syn_loss()

    runs = [] if hook == "on_established" else [drive]
    runs += [lambda: by("wrong").run()] if hook in ("__init__", "on_established", "on_ack") else []
    for run in runs:
        with pytest.raises(LongfatError, match=message):
            run()


def test_a_class_that_cannot_be_made_into_an_object() -> None:
    @longfat.congestion_control
    class NeedsMore:
        def __init__(self, more: int) -> None:
            self.more = more

        def on_ack(self, ack: longfat.Ack) -> None: ...

        def on_congestion(self, event: longfat.Congestion) -> None: ...

    with pytest.raises(TypeError, match="more"):
        by("needs_more").run()


def test_pacing_rate_and_hooks_that_are_there_are_called() -> None:
    heard: set[str] = set()

    @longfat.congestion_control
    class Listens:
        window: longfat.Window
        pacing_rate: float | None = None
        wants_rate = True

        def on_established(self, seed: int) -> None:
            heard.add("established")
            self.pacing_rate = 1e6

        def on_ack(self, ack: longfat.Ack) -> None:
            heard.add("ack")
            if ack.delivery_rate:
                heard.add("rate")
            self.window.cwnd = 100 * self.window.mss

        def on_congestion(self, event: longfat.Congestion) -> None:
            heard.add(event.kind)
            self.window.reduce(event, 0.5)

        def on_recovered(self, now: float) -> None:
            heard.add("recovered")

    one = ONE.replace("CONTROL", "listens").replace("count = 2", "count = 1").replace('"30 s"', '"10 s"')
    result = Experiment(one).run()
    assert {"established", "ack", "rate"} <= heard
    assert result.flows["ttcp_rate_bps"][0] == pytest.approx(1e6, rel=0.05)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("reno", {"on_ack": print, "on_congestion": print}, "longfat has a congestion control called `reno`"),
        ("Two Words", {"on_ack": print, "on_congestion": print}, "cannot be a congestion control's name"),
        ("half", {"on_ack": print}, "has no method `on_congestion`"),
    ],
)
def test_what_cannot_be_one_is_refused(name: str, body: dict[str, object], message: str) -> None:
    with pytest.raises(LongfatError, match=message):
        longfat.congestion_control(name=name)(type("Mine", (), body))


def test_a_name_that_nobody_has_is_an_error_of_the_file() -> None:
    with pytest.raises(longfat.ExperimentError, match=r"there is no such congestion control(.|\n)*did you mean `scalable`"):
        by("scalabel")
    with pytest.raises(LongfatError, match="is no congestion control"):
        longfat.conformance(int)


def test_a_run_is_stored_and_found(tmp_path: Path) -> None:
    by("scalable_too").sweep(tmp_path)
    run = by("scalable_too").resolve(0).hash
    assert Store(tmp_path).has(run)
    with pytest.raises(StorageError):
        Store(tmp_path).read("0" * 64)
