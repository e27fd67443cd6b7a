"""Names of axes: whatever its name, the tables of an axis are whole, or it is refused before anything runs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import longfat
import pytest
from longfat import ExperimentError
from longfat._longfat import registries
from longfat.plot import default_plots
from longfat.report import tables, terminal
from test_store import CELLS, HOSTS

TINY = """\
[path]
preset = "dumbbell"
rtt = "2 ms"
bottleneck = { rate = "10 Mbit/s" }
edge = { rate = "100 Mbit/s" }

[[host]]
name = "left"
memory = "1 MiB"

[[flow]]
window = { sweep = ["8 KiB", "16 KiB"], name = "NAME" }

[measure]
duration = "20 ms"
"""
LABELS = ["8 KiB", "16 KiB"]
ASKED = {"seed", "group", "from", "to", "congestion_control", "traffic", "name", "queue", "bottleneck", "discard"}
"""Columns that only say again what was asked."""


@pytest.fixture(scope="module")
def columns() -> list[str]:
    """Every column of every table that has axes, of runs that have all there is."""
    names: set[str] = {"run_seed", "flow_traffic", "link_queue", "host_name"}
    for text in (TINY, HOSTS, CELLS):
        results = longfat.Experiment(text.replace('"3 s"', '"1100 ms"')).sweep()
        names |= {str(name) for table in (results.runs, results.flows, results.links, results.hosts) for name in table}
    names |= {entry["name"] for entry in registries()["metrics"]}
    return sorted(names - {"NAME", "NAME_bytes"})


def test_every_column_is_refused_as_an_axis_or_steps_aside(columns: list[str], tmp_path: Path) -> None:
    assert len(columns) > 100
    plain = longfat.Experiment(TINY).sweep()
    can_be = set[str]()
    for name in columns:
        with pytest.raises(ExperimentError) if name not in ASKED else nullcontext() as refused:
            experiment = longfat.Experiment(TINY.replace("NAME", name))
        if refused is not None:
            assert f'an axis cannot be called "{name}"' in str(refused.value)
            continue
        can_be.add(name)
        fresh = experiment.sweep(tmp_path / name)
        kept = longfat.load_results(tmp_path / name)
        for of, table in (("run", "runs"), ("flow", "flows"), ("link", "links"), ("host", "hosts")):
            for results in (fresh, kept):
                rows, before = getattr(results, table), getattr(plain, table)
                assert rows.columns.is_unique
                assert list(rows["run"]) == list(before["run"])
                assert list(dict.fromkeys(rows[name])) == LABELS
                if name in before:
                    assert list(rows[f"{of}_{name}"]) == list(before[name])
        with terminal.console().capture():
            tables.print_results(terminal.console(), kept)
    assert can_be == ASKED


def test_seeds_can_be_an_axis(tmp_path: Path) -> None:
    text = "seed = { sweep = [1, 2, 3] }\n" + TINY.replace('{ sweep = ["8 KiB", "16 KiB"], name = "NAME" }', '"8 KiB"')
    longfat.Experiment(text).sweep(tmp_path)
    runs = longfat.load_results(tmp_path).runs
    assert list(runs["seed"]) == ["1", "2", "3"]
    assert list(runs["seed_number"]) == list(runs["run_seed"]) == [1, 2, 3]
    assert runs["run"].nunique() == 3


@pytest.mark.parametrize("name", ["goodput", "ttcp", "memory", "host", "link", "unfairness"])
def test_an_axis_hides_no_metric_that_begins_as_it_is_called(name: str) -> None:
    try:
        results = longfat.Experiment(TINY.replace("NAME", name)).sweep()
    except ExperimentError:
        assert name in ("host", "link", "unfairness")
        return
    titles, _ = tables.run_table(results)
    assert "goodput total (Mbit/s)" in titles
    assert "memory fairness" in titles
    assert f"{name} bytes" not in titles
    assert default_plots(results)[0].x.title == f"{name} (KiB)"
