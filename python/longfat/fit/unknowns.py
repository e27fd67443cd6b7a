"""Unknowns of an experiment file: ranges and choices in the place of values, and the models that they make.

A choice (`{ unknown = ["droptail", "policer"] }`) makes one model per value. A range (`{ unknown = ["10 ms", "200 ms"] }`) is one
dimension of each model. Points of a model are numbers from 0 to 1 per range.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.experiment import toml_value
from longfat.plot.units import with_unit

SCALES = ("linear", "log")
KEYS = ("unknown", "scale", "name")
MOST_MODELS = 24
"""Most models of one file: each takes runs of its own."""
UNITS = {"bps": ("bit/s", 1.0), "s": ("us", 1e6), "bytes": ("bytes", 1.0), "packets": ("packets", 1.0)}
"""The unit in which a value is written into a file, and the number of them in one of `quantity`."""
COUNTS = ("MHz", "cycles", "cells", "quanta", "rounds", "samples")
"""Units of whole numbers that `quantity` does not know."""
WHOLE = ("bit/s", "bytes", "packets", "segments", "buffers", *COUNTS)


@dataclass(frozen=True)
class Unknown:
    """A value of the file of which only the range is known."""

    name: str
    path: str
    """Where it stands: `path.bottleneck.rate`."""
    low: float
    high: float
    unit: str
    """Unit of `low` and `high`, as `longfat.quantity` has it: `bps`, `s`, `bytes`, `number`."""
    scale: str
    whole: bool = False
    """True for counts without a unit."""

    def value(self, place: float) -> float:
        """The value at a place between 0 (`low`) and 1 (`high`)."""
        place = min(1.0, max(0.0, place))
        if self.scale == "log":
            value = math.exp(math.log(self.low) + place * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + place * (self.high - self.low)
        return float(round(value)) if self.whole else value

    def place(self, value: float) -> float:
        """The place of a value: 0 is `low`, 1 is `high`."""
        if self.scale == "log":
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def toml(self, place: float) -> str:
        """The value at a place as the file has it."""
        value = self.value(place)
        if self.unit == "number":
            return str(round(value)) if self.whole else f"{value:.6g}" if "e" in f"{value:.6g}" else f"{value:.9g}"
        unit, times = UNITS.get(self.unit, (self.unit, 1.0))
        number = str(max(0 if not self.low else 1, round(value * times))) if unit in WHOLE else f"{value * times:.3f}"
        return f'"{number} {unit}"'

    def said(self, value: float) -> str:
        """A value in words: `94.1 Mbit/s`."""
        if self.unit == "number":
            return f"{value:.3g}"
        unit = {"bps": "bit/s", "bytes": "B"}.get(self.unit, self.unit)
        return with_unit(value, unit) if unit in ("bit/s", "s", "B") else f"{value:.3g} {unit}"


@dataclass(frozen=True)
class Model:
    """A file in which only ranges are left: one value of each choice."""

    choices: dict[str, str]
    """Label of the value of each choice."""
    text: str
    """The file, with the mark of each unknown in its place."""
    unknowns: list[Unknown]

    @property
    def name(self) -> str:
        """Labels of its choices: `droptail, alone`; `path` where there is no choice."""
        return ", ".join(self.choices.values()) or "path"

    @property
    def slug(self) -> str:
        """The name of its folder of results."""
        return re.sub(r"[^\w-]+", "-", self.name).strip("-") or "path"

    def at(self, place: Sequence[float]) -> str:
        """The file at one point."""
        text = self.text
        for number, (one, at) in enumerate(zip(self.unknowns, place, strict=True)):
            text = text.replace(_mark(number), one.toml(at))
        return text

    def over(self, places: Sequence[Sequence[float]]) -> str:
        """The file with an axis `point` over points."""
        text = self.text
        for number, one in enumerate(self.unknowns):
            values = [f'{{ label = "{index + 1}", value = {one.toml(place[number])} }}' for index, place in enumerate(places)]
            text = text.replace(_mark(number), f'{{ name = "point", zip = "point", sweep = [{", ".join(values)}] }}')
        return text


def models(text: str, file: str) -> list[Model]:
    """The models of a file with unknowns. Raises LongfatError where an unknown is none, or there is none at all."""
    made = list(_models(text, {}, [], file))
    if len(made) > MOST_MODELS:
        raise LongfatError(f"{file}: the choices make {len(made)} models: at most {MOST_MODELS} can be fitted")
    if not any(model.unknowns or model.choices for model in made):
        raise LongfatError(f'{file}: has no unknown value. help: write {{ unknown = ["10 ms", "200 ms"] }} in the place of a value')
    return made


def split(text: str, file: str) -> tuple[str, dict[str, Any]]:
    """The file without its table `[fit]`, each line in its place, and that table. Raises LongfatError where it is no TOML."""
    lines = text.split("\n")
    inside = False
    own: list[str] = []
    for number, line in enumerate(lines):
        if header := re.match(r"\s*\[+\s*([\w\"'-]+)", line):
            inside = header[1].strip("\"'") == "fit"
        if inside:
            own.append(line)
            lines[number] = ""
    try:
        table = tomllib.loads("\n".join(own)).get("fit", {})
    except tomllib.TOMLDecodeError as error:
        raise LongfatError(f"{file}: the table [fit] is no TOML: {error}") from error
    return "\n".join(lines), table


def _models(text: str, choices: dict[str, str], before: Sequence[Unknown], file: str) -> Iterator[Model]:
    """Models of a file whose first unknowns are `before`, with their marks in place."""
    unknowns = list(before)
    while found := next(_tables(text), None):
        start, end, table = found
        path = _path(text[:start] + json.dumps(MARKED) + text[end:], file)
        name = str(table.get("name", "")) or _name(path, [one.name for one in unknowns] + list(choices))
        if wrong := sorted(set(table) - set(KEYS)):
            raise LongfatError(f"{file}: {path}: an unknown has no key {wrong[0]!r}: expected {', '.join(KEYS)}")
        stop = text.find("\n", end) if "\n" in text[end:] else len(text)
        rest = text[end:stop] + "\n" * text[start:end].count("\n") + text[stop:]  # lines below stay in their places
        values: Any = table["unknown"]
        if not isinstance(values, list) or len(cast("list[object]", values)) < 2:
            raise LongfatError(f'{file}: {path}: expected the ends of a range or a list of choices, such as unknown = ["10 ms", "200 ms"]')
        values = cast("list[Any]", values)
        if (made := _range(name, path, values, table.get("scale"), file)) is None:
            for value in values:
                label, toml = _choice(value)
                yield from _models(text[:start] + toml + rest, choices | {name: label}, unknowns, file)
            return
        text = text[:start] + _mark(len(unknowns)) + rest
        unknowns.append(made)
    yield Model(choices, text, unknowns)


def _range(name: str, path: str, values: list[Any], scale: object, file: str) -> Unknown | None:
    """The unknown between two quantities of one unit; None for a list of choices."""
    if len(values) != 2:
        return None
    least, most = _quantity(values[0]), _quantity(values[1])
    if least is None or most is None:
        return None
    (low, unit), (high, other) = least, most
    if unit != other:
        raise LongfatError(f"{file}: {path}: the range from {values[0]} to {values[1]} has two units: expected one")
    if not low < high:
        raise LongfatError(f"{file}: {path}: the range from {values[0]} to {values[1]} is empty: expected the smaller end first")
    said = scale or ("log" if low > 0 else "linear")
    if said not in SCALES:
        raise LongfatError(f'{file}: {path}: scale = {said!r}: expected "linear" or "log"')
    if said == "log" and low <= 0:
        raise LongfatError(f"{file}: {path}: a logarithmic range begins above 0, and this one begins at {values[0]}")
    return Unknown(name, path, low, high, unit, str(said), all(isinstance(value, int) for value in values))


def _quantity(value: object) -> tuple[float, str] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), "number"
    if not isinstance(value, str):
        return None
    if counted := re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(COUNTS)})\s*", value):
        return float(counted[1]), counted[2]
    return quantity(value)


def _choice(value: Any) -> tuple[str, str]:
    """Label of a choice, and what stands in the file for it."""
    if not isinstance(value, dict):
        return (value if isinstance(value, str) else json.dumps(value)), toml_value(value)
    table = cast("dict[str, Any]", value)
    label = str(next((table[key] for key in ("label", "kind", "preset", "type", "value") if key in table), toml_value(table)))
    rest = {key: one for key, one in table.items() if key != "label"}
    return label, _toml(rest["value"] if set(rest) == {"value"} else rest)


def _toml(value: Any) -> str:
    """A value as TOML; lists stay lists."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(one)}' for key, one in cast('dict[str, Any]', value).items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in cast('list[Any]', value))}]"
    return json.dumps(value)


MARKED = "\x7fhere"


def _mark(number: int) -> str:
    return f'"\u2060unknown {number}\u2060"'


def _tables(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Inline tables with the key `unknown`, the outermost: start, end and contents."""
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token:
            at = token.end()
        elif text[at] == "{" and (end := _end(text, at)) and (table := _table(text[at:end])) is not None and "unknown" in table:
            yield at, end, table
            at = end
        else:
            at += 1


TOKEN = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
"""Strings and comments, in which braces mean nothing."""


def _end(text: str, start: int) -> int | None:
    depth, at = 0, start
    while at < len(text):
        token = TOKEN.match(text, at)
        if token:
            at = token.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at
    return None


def _table(text: str) -> dict[str, Any] | None:
    try:
        found = tomllib.loads(f"table = {text}")["table"]
    except tomllib.TOMLDecodeError:
        return None
    return cast("dict[str, Any]", found)


def _path(text: str, file: str) -> str:
    """Where the marked value stands: `flow[0].window`."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LongfatError(f"{file}: {error}") from error

    def search(value: Any, path: str) -> Iterator[str]:
        if value == MARKED:
            yield path
        elif isinstance(value, dict):
            for key, one in cast("dict[str, Any]", value).items():
                yield from search(one, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for number, one in enumerate(cast("list[Any]", value)):
                yield from search(one, f"{path}[{number}]")

    return next(search(whole, ""))


def _name(path: str, taken: Sequence[str]) -> str:
    """The shortest end of the path that no other unknown has."""
    parts = path.split(".")
    ends = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    return next((end for end in ends if end not in taken), path)
