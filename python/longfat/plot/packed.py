"""Figures for the page: JSON with its long columns of numbers apart, packed and compressed.

A pack is the base64 of a zlib stream of

- 4 bytes, little-endian: the length of the JSON;
- the JSON, UTF-8, padded with spaces to a multiple of 4: `{"value": ..., "columns": [...]}`, where each `array` of the value has become
  `{"column": N}`;
- the columns, one after the other.

A column of `n` numbers is `first`, and differences as whole multiples of `quantum`: 32 bits each, the lowest byte of all of them, then the
next, which a compressor makes little of. The difference -2^31 stands for NaN. Where differences do not fit, `quantum` is 0 and the column
is 64-bit floats. `plots.js` reads it.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAP = -(2**31)
"""The difference that stands for NaN."""
DIGITS = 8
"""Digits that are kept at least of the largest difference in a column."""
EXACT = 15
"""Digits of a 64-bit float."""


def pack(value: object) -> str:
    """`value`, of lists, dictionaries, texts, numbers and `array("d")`, as a pack."""
    columns: list[bytes] = []
    facts: list[dict[str, Any]] = []
    known: dict[bytes, int] = {}

    def apart(value: object) -> object:
        if isinstance(value, array):
            content = bytes(cast("array[float]", value))
            # Series of one figure have their times in common.
            if content not in known:
                known[content] = len(columns)
                fact, column = _column(np.frombuffer(content, np.float64))
                facts.append(fact)
                columns.append(column)
            return {"column": known[content]}
        if isinstance(value, Mapping):
            return {key: apart(item) for key, item in cast("Mapping[str, object]", value).items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [apart(item) for item in cast("Sequence[object]", value)]
        return value

    head = json.dumps({"value": apart(value), "columns": facts}, allow_nan=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 4)
    return base64.b64encode(zlib.compress(struct.pack("<I", len(head)) + head + b"".join(columns), 6)).decode("ascii")


def unpack(text: str) -> Any:
    """Returns what `pack` was given; a column as a list."""
    content = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", content)
    head = json.loads(content[4 : 4 + length])
    at = 4 + length
    columns: list[list[float]] = []
    for fact in head["columns"]:
        size = fact["n"] * (4 if fact["quantum"] else 8)
        columns.append(_numbers(content[at : at + size], fact).tolist())
        at += size

    def in_place(item: dict[str, Any]) -> object:
        if item.keys() == {"column"}:
            return columns[int(item["column"])]
        return item

    # Once more, with the columns in their places.
    return json.loads(content[4 : 4 + length], object_hook=in_place)["value"]


def _column(values: NDArray[np.float64]) -> tuple[dict[str, Any], bytes]:
    gaps = ~np.isfinite(values)
    real = values[~gaps]
    fact: dict[str, Any] = {"n": len(values), "first": float(real[0]) if len(real) else 0.0, "quantum": 1.0}
    quantum = _quantum(real)
    whole = np.rint((real - fact["first"]) / quantum)
    steps = np.diff(whole, prepend=0.0)
    if len(real) and np.abs(steps).max() >= 2**31:
        return fact | {"quantum": 0.0}, np.where(gaps, np.nan, values).tobytes()
    differences = np.full(len(values), GAP, np.int32)
    differences[~gaps] = steps.astype(np.int32)
    return fact | {"quantum": quantum}, differences.view(np.uint8).reshape(-1, 4).T.tobytes()


def _quantum(real: NDArray[np.float64]) -> float:
    """The unit of the differences: 1 for whole numbers, else a power of ten that the largest of them needs."""
    largest = float(np.abs(np.diff(real)).max(initial=0.0))
    if not largest or (np.abs(real).max() < 2**53 and np.array_equal(real, np.rint(real))):
        return 1.0
    exponent = max(np.floor(np.log10(largest)) - DIGITS, np.floor(np.log10(np.abs(real).max())) - EXACT)
    return float(f"1e{int(exponent)}")


def _numbers(column: bytes, fact: dict[str, Any]) -> NDArray[np.float64]:
    if not fact["quantum"]:
        return np.frombuffer(column, np.float64)
    differences = np.frombuffer(column, np.uint8).reshape(4, -1).T.copy().view(np.int32).ravel().astype(np.float64)
    gaps = differences == GAP
    values = fact["first"] + np.cumsum(np.where(gaps, 0, differences)) * fact["quantum"]
    return np.where(gaps, np.nan, values)
