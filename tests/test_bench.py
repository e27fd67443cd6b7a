"""The history of the bench: what is recorded, and what is drawn of it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import longfat
import pytest
from conftest import ROOT
from longfat.fit.readers import read
from longfat.fit.readers.names import Names


def module(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / file)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


history = module("history", "history.py")

ROWS = [
    {"case": "a", "data_packets_per_cpu_second": 8e6},
    {"control": "reno", "over_reno": 1.0},
    {"control": "bbr", "over_reno": 1.4},
    {"connections": 1000, "over_100": 1.1},
    {"cells": "epd-512", "cpu_ns_per_cell": 40.0},
    {"instructions_of": "a", "instructions_per_packet": 1327},
]


def entry(version: str, cpu: str = "one", rows: list[dict[str, object]] = ROWS) -> dict[str, object]:
    return {"version": version, "commit": "0123abc", "date": "2026-11-21", "cpu": cpu, "rustc": None, "rows": rows}


def write(path: Path, *entries: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in entries), encoding="utf-8")
    return path


def test_what_is_recorded_is_a_line_of_its_own(tmp_path: Path) -> None:
    bench, file = tmp_path / "bench.json", write(tmp_path / "history.jsonl", entry("0.0.1"))
    bench.write_text(json.dumps(ROWS), encoding="utf-8")
    recorded = history.record(bench, file)
    first, second = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    assert first == entry("0.0.1")
    assert second == recorded
    assert second["rows"] == ROWS
    version = next(line for line in (ROOT / "Cargo.toml").read_text(encoding="utf-8").splitlines() if line.startswith("version"))
    assert f'"{second["version"]}"' in version


def test_times_of_another_processor_are_not_compared(tmp_path: Path) -> None:
    file = write(tmp_path / "history.jsonl", entry("1"), entry("2", cpu="another"), entry("3"))
    assert [one["version"] for one in history.load(file)] == ["1", "3"]


def test_a_row_that_is_younger_than_the_history_has_a_gap_before_it(tmp_path: Path) -> None:
    new = {"case": "ansnet", "data_packets_per_cpu_second": 1e6}
    cases, controls, connections, cells, instructions = history.plots([entry("1"), entry("2", rows=[*ROWS, new])])
    assert [series.name for series in cases.series] == ["a", "ansnet"]
    assert list(cases.series[0].y) == [pytest.approx(125), pytest.approx(125)]
    assert str(cases.series[1].y[0]) == "nan"
    assert cases.series[1].y[1] == pytest.approx(1000)
    assert list(controls.series[1].x) == [1.0, 1.4]
    assert list(connections.series[0].y) == [1.1, 1.1]
    assert list(cells.series[0].y) == [40.0, 40.0]
    assert list(instructions.series[0].y) == [1327, 1327]


def test_the_history_that_is_kept_can_be_drawn(tmp_path: Path) -> None:
    drawn = history.draw(folder=tmp_path)
    assert {path.name for path in drawn} >= {"cases.svg", "cases.png", "controls.svg"}
    assert all(path.stat().st_size > 1000 for path in drawn)


def test_the_row_of_a_fit_has_six_measurements_and_the_time_of_kept_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = module("cost", "fit/cost.py")

    def fit_path(table: Path, folder: Path, jobs: int) -> SimpleNamespace:
        assert [one.values.keys() for one in read([table], Names({}, {}, {}))] == [set(cost.OBSERVABLES)] * 6
        made = longfat.Experiment(cost.PATH.format(rate="1 Mbit/s"))
        made.set("measure.duration", '"1 s"')
        made.sweep(folder / "model" / "fit", jobs=jobs)
        runs = SimpleNamespace(places=[[0.5], [0.7]])
        return SimpleNamespace(models=[SimpleNamespace(searched=SimpleNamespace(runs=runs))] * 2)

    monkeypatch.setattr(longfat, "fit_path", fit_path)
    first = cost.cost("1 Mbit/s", tmp_path, jobs=1)
    assert (first["points"], first["runs"]) == (4, 1)
    assert first["runs_cpu_s"] > 0
    # A run that is kept is not made again, and its time still counts.
    again = cost.cost("1 Mbit/s", tmp_path, jobs=1)
    assert (again["runs"], again["runs_cpu_s"]) == (first["runs"], first["runs_cpu_s"])
