"""Results of one file, as it is and with `--set`: one table, and the keys that differ are its first columns."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console

from longfat.lazy import pd
from longfat.report.tables import DETAILS, print_runs
from longfat.results.results import Results

MOST_ROWS = 60
"""Runs in the table; where there are more, nothing is printed."""


def print_variants(console: Console, text: str, every: Sequence[Results]) -> bool:
    """Prints the runs of `every` in one table; `text` is the file without changes. Returns false if they are too many, or one."""
    changed = [_changes(results) for results in every]
    keys = list(dict.fromkeys(key for changes in changed for key in changes))
    if not keys or not 1 < sum(len(results) for results in every) <= MOST_ROWS:
        return False
    names = _short(keys)
    held = _read(text)
    axes = list(dict.fromkeys(axis for results in every for axis in results.axes))
    frames: list[pd.DataFrame] = []
    replaced: set[str] = set()
    for results, changes in zip(every, changed, strict=True):
        frame = results.runs.drop(columns=[name for name in DETAILS if name in results.runs])
        made: dict[str, Any] = {}
        for key, name in names.items():
            axis = _axis(held, key)
            replaced |= {axis} if axis else set()
            known = changes.get(key)
            column = _plain(known) if known is not None else (frame[axis].astype(str) if axis in frame else _value(held, key))
            made[name] = column
        rest = [name for name in frame if name not in made]
        frames.append(frame[rest].assign(**made)[[*made, *rest]])
    left = [axis for axis in axes if axis not in replaced or axis in names.values()]
    print_runs(console, pd.concat(frames, ignore_index=True), [*dict.fromkeys([*names.values(), *left])])
    return True


def _changes(results: Results) -> Mapping[str, str]:
    return {key: value for key, value in results.provenance.get("changes", {}).items() if key != "quick"}


def _short(keys: Sequence[str]) -> dict[str, str]:
    """Names each key by its last word, where no other has the same."""
    last = {key: key.rpartition(".")[2] for key in keys}
    return {key: word if list(last.values()).count(word) == 1 else key for key, word in last.items()}


def _read(text: str) -> dict[str, Any]:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text)
    return {}


def _at(held: Any, key: str) -> Any:
    """The value at `flow[0].window`; `flow.window` is the same where there is one flow. None without one."""
    for word in re.findall(r"[^.\[\]]+", key):
        if isinstance(held, list) and not word.isdigit():
            held = held[0] if len(held) == 1 else None
        if isinstance(held, list):
            held = held[int(word)] if int(word) < len(held) else None
        elif isinstance(held, dict):
            held = held.get(word)
        else:
            return None
    return held


def _axis(held: Mapping[str, Any], key: str) -> str:
    """The axis that the file has at `key`; empty without one."""
    value = _at(held, key)
    return str(value.get("name", key.rpartition(".")[2])) if isinstance(value, dict) and "sweep" in value else ""


def _value(held: Mapping[str, Any], key: str) -> str:
    value = _at(held, key)
    if isinstance(value, dict):
        return str(value.get("kind", "a table"))
    return "–" if value is None else str(value)


def _plain(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
