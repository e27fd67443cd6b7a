"""The prompt comes back soon: a command imports what it uses, and no more."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from longfat.cli.app import HOMES, VERBS
from longfat.cli.app import load as verb_of
from longfat.store.arrow import NONE, cells_in, column_of, numbers_of
from longfat.store.combined import for_pandas

SLOW = (
    "dask",
    "distributed",
    "emcee",
    "jinja2",
    "matplotlib",
    "multiprocessing",
    "numpy",
    "pandas",
    "pyarrow",
    "http.server",
    "scipy",
    "sklearn",
)
ONE = """\
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s" }
[[flow]]
[measure]
duration = "1 s"
"""
TEXTS = ("--help", "--version", "list", "list queues", "schema", "run --help", "report --help", "run no-such", "show no")
NAMES = "import sys; from longfat.__main__ import main\ntry: main()\nfinally: print(*sys.modules, sep='\\n', file=sys.stderr)"


def modules(folder: Path, *words: str) -> set[str]:
    """Modules that the command has imported at its end."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    done = subprocess.run([sys.executable, "-c", NAMES, *words], capture_output=True, text=True, cwd=folder, env=clean, check=False)
    assert "Traceback" not in done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("words", TEXTS)
def test_nothing_slow_is_imported_for_a_text(words: str, tmp_path: Path) -> None:
    found = modules(tmp_path, *words.split())
    assert "longfat.cli.app" in found
    assert found & set(SLOW) == set()


@pytest.mark.slow
def test_an_error_in_a_file_comes_before_what_runs_it(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(ONE.replace("dumbbell", "dumbel"), encoding="utf-8")
    assert modules(tmp_path, "run", "bad.toml") & set(SLOW) == set()


@pytest.mark.slow
def test_a_run_makes_its_tables_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE, encoding="utf-8")
    assert modules(tmp_path, "run", "one.toml") & set(SLOW) <= {"numpy", "pyarrow"}
    assert pd.read_parquet(tmp_path / "results/one/runs.parquet")["goodput_total_bps"].iloc[0] > 8e6


@pytest.mark.parametrize(("name", "summary"), [item for verbs in VERBS.values() for item in verbs.items()])
def test_the_sentence_of_a_verb_is_that_of_its_help(name: str, summary: str) -> None:
    module = __import__(f"longfat.cli.{HOMES.get(name, name)}", fromlist=["_"])
    made = getattr(module, f"{name}_command")
    said = made.info.help if isinstance(made, typer.Typer) else inspect.getdoc(made)
    assert " ".join(said.split("\n\n")[0].split()) == summary
    assert verb_of(name).help


KINDS = ("string", "large_string", "uint64", "float64")


def some(kind: str, seed: int) -> list[object]:
    """Up to 20 values of a kind, with None among them."""
    rng = random.Random(f"{kind} {seed}")
    make = {"uint64": lambda: rng.randrange(NONE), "float64": lambda: rng.choice([rng.random(), -0.0, 1e308, float("inf")])}
    word = lambda: rng.choice(["", "a", "\0", "ä" * rng.randrange(5), "\U0001f600"])  # noqa: E731
    return [make.get(kind, word)() if rng.random() < 0.8 else None for _ in range(rng.randrange(20))]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_pyarrow(kind: str) -> None:
    for seed in range(50):
        made = column_of(some(kind, seed), kind)
        made.validate(full=True)
        assert made.equals(pa.array(some(kind, seed), kind))


@pytest.mark.parametrize(("kind", "none"), [("uint64", NONE), ("float64", float("nan"))])
def test_cells_are_those_of_any_piece_of_a_column(kind: str, none: float) -> None:
    for seed in range(50):
        start, count, values = seed % 7, seed % 11, some(kind, seed)
        pieces = pa.chunked_array([pa.array(values, kind), pa.array(values, kind).slice(start, count)])
        wanted = [none if value is None else value for value in values + values[start : start + count]]
        assert [str(value) for value in cells_in(pieces).tolist()] == [str(value) for value in wanted]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 64])
def test_truths_are_packed_as_arrow_packs_them(length: int) -> None:
    truths = np.arange(length) % 3 == 0
    assert numbers_of(truths).equals(pa.array(truths))
    assert numbers_of(np.arange(length), truths).equals(pa.array(np.arange(length), mask=truths))


def test_the_metadata_is_what_pandas_writes() -> None:
    kinds = [pa.large_string(), pa.string(), pa.float64(), pa.int64(), pa.uint64(), pa.null(), pa.bool_()]
    schema = pa.schema([(f"{number} {kind}", kind) for number, kind in enumerate(kinds)])
    written = pa.Table.from_pandas(schema.empty_table().to_pandas(), preserve_index=False).schema
    assert schema.with_metadata(for_pandas(schema)).metadata == written.metadata


@pytest.mark.slow
def test_a_page_is_written_without_what_draws_on_paper(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE + 'interval = "50 ms"\n', encoding="utf-8")
    modules(tmp_path, "run", "one.toml")
    assert modules(tmp_path, "report", "one") & {"matplotlib", "multiprocessing", "dask"} == set()
    assert (tmp_path / "reports/one/report.html").is_file()
