"""Experiments in Python: load, change, run, sweep."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import longfat
import pandas as pd
import pytest
from conftest import LONG, LONG_SWEEP, ONE, SWEEP, command
from longfat import Experiment, ExperimentError, LongfatError


def test_a_run_gives_tables_with_units() -> None:
    result = Experiment(ONE).run()
    assert list(result.flows["group"]) == ["forward", "forward"]
    assert (result.flows["bytes_delivered"] == 500_000).all()
    # 10 Mbit/s on the wire is the most that two flows can share.
    assert 0.5e6 < result.flows["ttcp_rate_bps"].min() <= result.flows["goodput_bps"].max() < 10e6
    slowest = result.flows["ttcp_rate_bps"].min()
    assert result.metrics["ttcp_utilization_bps"] == pytest.approx(2 * slowest)
    assert 0 < result.metrics["bottleneck_utilization"] <= 1
    assert result.series["time_s"].is_monotonic_increasing
    assert result.series["cwnd_bytes"].gt(0).all()
    bottleneck = result.links[result.links["bottleneck"] == 1]
    assert bottleneck["packets_in"].gt(0).any()


@pytest.mark.slow
def test_each_host_with_memory_has_a_row(tmp_path: Path) -> None:
    hosts = "".join(
        f'[[host]]\nname = "{name}"\nmemory = "{size}"\n' for name, size in [("left1", "64 KiB"), ("right1", "1 MiB"), ("right2", "2 MiB")]
    )
    results = Experiment(
        SWEEP.replace("[measure]", hosts + "[measure]").replace('preset = "dumbbell"', 'preset = "dumbbell"\npairs = 2')
    ).sweep(tmp_path)
    assert len(results.hosts) == 9
    assert list(results[0].hosts["name"]) == ["left1", "right1", "right2"]
    for name in ("memory_promised_mean_bytes", "memory_buffered_peak_bytes", "memory_wasted_mean_bytes", "memory_drops"):
        sums = results.hosts.groupby("run", sort=False)[name].sum()
        assert sums.tolist() == pytest.approx(results.runs[name].tolist())
    # The second sender's host is not bounded, and the first may hold no more than it has.
    sent = results.hosts[results.hosts["name"] == "left1"]
    assert sent["memory_buffered_peak_bytes"].between(1, 65_536).all()
    pd.testing.assert_frame_equal(longfat.load_results(tmp_path).hosts, results.hosts, check_exact=True)
    shown = command("show", tmp_path, env={"COLUMNS": "300", "PATH": ""}).stdout
    assert "Each host" in shown
    assert "right2" in shown
    # A table that is lost is made again from the runs.
    (tmp_path / "hosts.parquet").unlink()
    pd.testing.assert_frame_equal(longfat.load_results(tmp_path).hosts, results.hosts, check_exact=True)


def test_the_same_experiment_gives_the_same_numbers() -> None:
    first, second = Experiment(ONE).run(), Experiment(ONE).run()
    for table in ("flows", "links", "hosts", "flow_series", "link_series", "events"):
        pd.testing.assert_frame_equal(getattr(first, table), getattr(second, table), check_exact=True)
    assert (first.run, first.steps) == (second.run, second.steps)
    # A metric without a value is NaN both times.
    assert first.metrics == pytest.approx(second.metrics, rel=0, abs=0, nan_ok=True)


def test_setting_a_value_changes_the_run() -> None:
    e = Experiment(ONE)
    before = e.run()
    e["flow[0].window"] = "4 KiB"
    after = e.run()
    assert after.run != before.run
    # 4 KiB a round trip of at least 20 ms.
    assert after.flows["goodput_bps"].max() < 4096 * 8 / 0.020


def test_a_mapping_is_a_table() -> None:
    e = Experiment(ONE)
    e["path.bottleneck.queue"] = {"kind": "red", "limit": "40 packets"}
    assert json.loads(e.resolve(0).resolved)["path"]["link"][0]["queue"]["kind"] == "red"
    assert repr(e).startswith("<longfat.Experiment 'experiment'")
    assert repr(e).endswith("1 run>")


def test_a_list_is_a_sweep() -> None:
    e = Experiment(ONE)
    e["flow[0].window"] = ["8 KiB", "16 KiB"]
    e["flow[0].count"] = [1, 2]
    assert e.run_count == 4
    assert list(e.axes.values()) == [["1", "2"], ["8 KiB", "16 KiB"]] or list(e.axes.values()) == [
        ["8 KiB", "16 KiB"],
        ["1", "2"],
    ]


def test_a_wrong_value_is_refused_and_changes_nothing() -> None:
    e = Experiment(ONE, "one.toml")
    run = e.resolve(0).hash
    for path, value in (("flow[0].windw", "4 KiB"), ("flow[0].window", "4 parsecs"), ("flow[7].window", "4 KiB")):
        with pytest.raises(ExperimentError):
            e[path] = value
    assert e.resolve(0).hash == run
    assert e.changes == {}


def test_errors_name_file_line_key_and_the_nearest_name() -> None:
    with pytest.raises(ExperimentError) as caught:
        Experiment(SWEEP.replace("window =", "windo ="), "mine.toml")
    message = str(caught.value)
    assert "mine.toml:12:" in message
    assert "windo" in message
    assert "window" in message.split("help", 1)[1]


def test_a_sweep_is_not_one_run() -> None:
    with pytest.raises(ExperimentError, match="sweep of 3 runs"):
        Experiment(SWEEP).run()


def test_a_sweep_in_memory_has_the_order_of_its_axes() -> None:
    results = Experiment(SWEEP).sweep(jobs=2)
    assert list(results.runs["window"]) == ["8 KiB", "16 KiB", "64 KiB"]
    assert list(results.runs["window_bytes"]) == [8192, 16384, 65536]
    assert len(results.flows) == 6
    assert [result.labels["window"] for result in results[1:]] == ["16 KiB", "64 KiB"]
    assert set(results.series["run"]) == set(results.runs["run"])


def test_values_that_resolve_to_the_same_run_are_run_once() -> None:
    e = Experiment(SWEEP.replace('"16 KiB"', '"8192 bytes"'))
    results = e.sweep()
    assert list(results.runs["window"]) == ["8 KiB", "8192 bytes", "64 KiB"]
    assert results.runs["run"].nunique() == 2


def test_unknown_names_are_met_with_the_nearest() -> None:
    with pytest.raises(LongfatError, match="no file, folder, paper or experiment is called"):
        longfat.load("no-such-experiment-at-all")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LongfatError, match="cannot read"):
        longfat.load(tmp_path / "bad.toml")


def test_the_gil_is_free_while_it_runs() -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    class Enough(Exception):
        pass

    start = time.monotonic()

    def progress(share: float) -> None:
        assert 0 <= share < 1
        if time.monotonic() - start > 0.5:
            raise Enough

    thread = threading.Thread(target=count)
    thread.start()
    try:
        with pytest.raises(Enough):
            Experiment(LONG).resolve(0).execute(progress)
    finally:
        done.set()
        thread.join()
    # With the GIL held the thread would get a turn only at the few calls of `progress`.
    assert ticks > 50


def test_what_stops_a_sweep_stops_all_its_runs_soon() -> None:
    class Enough(Exception):
        pass

    def tick(_: object) -> None:
        raise Enough

    start = time.monotonic()
    with pytest.raises(Enough):
        Experiment(LONG_SWEEP).sweep(jobs=2, tick=tick)
    assert time.monotonic() - start < 10


def test_a_backend_is_named_by_the_file_or_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE)
    for arguments in (["--backend", "bench"], ["--set", "backend=bench"]):
        done = command("run", "one.toml", *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert "`backend` cannot be" in done.stderr
        assert 'expected: one of "sim", "testbed"' in done.stderr
    with pytest.raises(ExperimentError, match='one of "sim", "testbed"'):
        Experiment(f'backend = "bench"\n{ONE}')
    assert command("run", "one.toml", "--backend", "sim", cwd=tmp_path).returncode == 0
    results = longfat.load_results(tmp_path / "results" / "one+backend=sim")
    assert results.provenance["backends"] == ["sim"]
    assert results[0].provenance["backend"] == "sim"
    # An explicit backend that is the default gives the same run as no word.
    assert results[0].run == Experiment(ONE).resolve(0).hash
