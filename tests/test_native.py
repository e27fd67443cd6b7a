"""The stub of the binary says what the binary has: names, signatures, and the types of what comes out."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any, get_type_hints

import longfat
import numpy as np
import pytest
from conftest import ONE
from longfat import _longfat
from longfat.cli.testbed import permitted

STUB = ast.parse((Path(longfat.__file__).parent / "_longfat.pyi").read_text(encoding="utf-8"))
TYPES = {
    "Expectation",
    "ScriptReport",
    "Param",
    "Entry",
    "Given",
    "Tables",
    "ColumnEntry",
    "FlowEntry",
    "QueueEntry",
    "GymEntry",
}  # TypedDicts: shapes of values, not names of the binary


def stub_names(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_the_module_has_what_the_stub_says_and_nothing_else() -> None:
    expected = {name for name in stub_names(STUB.body) if name not in TYPES and not name.startswith("__")}
    assert public(_longfat) == expected


CLASSES = [node.name for node in STUB.body if isinstance(node, ast.ClassDef) and node.name not in TYPES]


def in_stub(name: str, body: list[ast.stmt] = STUB.body) -> Any:
    """The class or function called `name`."""
    found = [node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name]
    assert found, f"_longfat.pyi has no {name}"
    return found[0]


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_members_of_the_stub(name: str) -> None:
    node = in_stub(name)
    expected = {member for member in stub_names(node.body) if member != "__new__"}
    assert public(getattr(_longfat, name)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "Document",
        "Document.set",
        "Document.run",
        "Run.execute",
        "CongestionControl.on_ack",
        "CongestionControl.on_congestion",
        "CongestionControl.on_recovered",
        "CongestionControl.on_restart",
        "quantity",
        "schema",
        "registries",
    ],
)
def test_signatures_agree(path: str) -> None:
    owner, _, method = path.partition(".")
    node = in_stub(owner)
    binary = getattr(_longfat, owner)
    if isinstance(node, ast.ClassDef):
        method_name = method or "__new__"
        node = in_stub(method_name, node.body)
        binary = getattr(binary, method) if method else binary
    said = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
    required = len(said) - len(node.args.defaults)
    said += [a.arg for a in node.args.kwonlyargs]  # all of ours have defaults
    parameters = [p for p in inspect.signature(binary).parameters.values() if p.name != "self"]
    assert [p.name for p in parameters] == said
    assert [p.default is inspect.Parameter.empty for p in parameters] == [i < required for i in range(len(said))]


def test_a_trace_has_the_fields_of_the_stub_with_columns_of_one_length() -> None:
    node = in_stub("Tables")
    whole = _longfat.Document(ONE, "one.toml").run(0).execute()
    trace = whole.tables()
    assert set(trace) == stub_names(node.body)
    tables = {name: trace[name] for name in ("flows", "links")} | {
        name: whole.table(name) for name in ("flow_series", "link_series", "events")
    }
    for table, columns in tables.items():
        lengths = {name: len(column) for name, column in columns.items()}
        assert len(set(lengths.values())) == 1, lengths
        assert min(lengths.values()) > 0, f"{table} is empty"
        for name, column in columns.items():
            words = isinstance(column, list) and all(isinstance(word, str) for word in column)
            assert words or (isinstance(column, np.ndarray) and column.dtype in (np.float64, np.int64)), name


def test_public_functions_are_documented_and_typed() -> None:
    for name in longfat.__all__:
        thing = getattr(longfat, name)
        if inspect.isfunction(thing):
            assert thing.__doc__, name
            assert "return" in get_type_hints(thing, vars(inspect.getmodule(thing))), name


def test_registries_hold_what_an_experiment_can_name() -> None:
    kinds = longfat.registries()
    transport = {"stacks", "congestion_controls", "slow_starts", "window_sizings", "tcp"}
    network = {"paths", "links", "losses", "traces", "queues", "discards", "hosts"}
    assert transport | network | {"traffic", "metrics", "warnings", "backends"} == set(kinds)
    for kind, entries in kinds.items():
        assert entries, kind
        assert len({entry["name"] for entry in entries}) == len(entries), kind
        for entry in entries:
            assert entry["summary"], entry["name"]
            assert all(param["doc"] and param["kind"] and param["default"] for param in entry["params"]), entry["name"]
    assert "droptail" in {entry["name"] for entry in kinds["queues"]}


@pytest.mark.parametrize("name", [entry["name"] for entry in longfat.registries()["backends"]])
def test_every_backend_runs(name: str) -> None:
    if name == "testbed" and not permitted():
        pytest.skip("the testbed is not permitted here")
    if name == "live":
        pytest.skip("it needs a server: tests/test_live.py has one")
    run = longfat.Experiment(f'backend = "{name}"\n{ONE}').resolve(0)
    assert run.backend == name
    assert run.execute().tables()["end_s"] > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64 KiB", (65536.0, "bytes")),
        ("68 ms", (0.068, "s")),
        ("44.21 Mbit/s", (44.21e6, "bps")),
        ("60 packets", (60.0, "packets")),
        ("0.5 bdp", (0.5, "bdp")),
        ("8", (8.0, "number")),
        ("r60", None),
        ("-", None),
        ("", None),
        ("no-b", None),
        ("3 apples", None),
    ],
)
def test_quantity(text: str, expected: tuple[float, str] | None) -> None:
    assert _longfat.quantity(text) == expected
