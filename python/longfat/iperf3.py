"""Tests in the output of `iperf3 --json` and `--json-stream`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from longfat.errors import LongfatError

SUFFIXES = (".json", ".jsonl", ".ndjson")
"""Endings of names of such files."""


def tests(path: Path) -> list[dict[str, Any]]:
    """The tests of a file, each as the one object of `iperf3 --json`. LongfatError where one failed, or where directions are mixed."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LongfatError(f"{path}: cannot be read as text: {error}") from error
    found = _told(text, path)
    for told in found:
        if error := told.get("error"):
            raise LongfatError(f"{path}: iperf3 failed: {error}")
    if len({_test(told).get("reverse") or 0 for told in found}) > 1 or any(_is_both(told) for told in found):
        raise LongfatError(
            f"{path}: holds tests of both directions, which are two paths: take one (`longfat measure --json-stream --direction up`)"
        )
    return found


def _test(told: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the test; empty where they are not said."""
    try:
        return dict(told["start"]["test_start"])
    except (KeyError, TypeError, ValueError):
        return {}


def _is_both(told: dict[str, Any]) -> bool:
    """True for a test with `--bidir`. iperf3 3.12 says so in its sums alone."""
    end = told.get("end")
    return bool(_test(told).get("bidir")) or (isinstance(end, dict) and "sum_sent_bidir_reverse" in end)


def _told(text: str, path: Path) -> list[dict[str, Any]]:
    """Each test as one object; `--json-stream` writes a line per event, and several tests may follow each other."""
    try:
        whole: Any = json.loads(text)
        if isinstance(whole, dict) and "event" not in whole:
            return [cast("dict[str, Any]", whole)]
        lines: list[Any] = [whole]
    except ValueError:
        try:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise LongfatError(f"{path}: is neither JSON nor one JSON object per line: {error}") from error
    told: list[dict[str, Any]] = []
    for line in lines:
        said = cast("dict[str, Any]", line) if isinstance(line, dict) else {}
        event, data = said.get("event"), said.get("data")
        if event is None:
            raise LongfatError(f"{path}: expected what `iperf3 --json` or `--json-stream` wrote")
        if event == "start" or not told:
            told.append({"intervals": []})
        if event == "interval":
            told[-1]["intervals"].append(data)
        elif event in ("start", "end", "error"):
            told[-1][event] = data
    for test in told:
        if "end" not in test and "error" not in test:
            raise LongfatError(f"{path}: has no end: the test was cut short")
    return told
