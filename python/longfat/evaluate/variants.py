"""Variants of a queue: each of its parameters halved and doubled (RFC 7928 section 8.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from longfat.errors import ExperimentError
from longfat.experiment import Experiment

FACTORS = (0.5, 2.0)


def variants(name: str, own: Mapping[str, Any], text: str, put: Callable[[Mapping[str, Any], Experiment], None]) -> dict[str, Any]:
    """The queue `own` under `name`, and by its parameter and value each variant that can be put into the experiment `text`.

    Parameters are those that a run resolves to, defaults included. Words and switches have none; a value that the queue refuses is
    left out. Only `name` is there where no variant is left.
    """
    found = dict[str, Any]({name: dict(own)})
    for key, value in _resolved(own, text, put).items():
        for changed in _scaled(value):
            queue = {**own, key: changed}
            try:
                one = Experiment(text)
                put({name: queue}, one)
                one.resolve_all()
            except ExperimentError:
                continue
            found[f"{key} {changed}"] = queue
    return found


def _resolved(own: Mapping[str, Any], text: str, put: Callable[[Mapping[str, Any], Experiment], None]) -> dict[str, Any]:
    """Parameters of the queue as a run has them."""
    one = Experiment(text)
    put({"one": dict(own)}, one)
    links: list[dict[str, Any]] = json.loads(one.resolve(0).resolved)["path"]["link"]
    queue: dict[str, Any] = next(link["queue"] for link in links if link.get("bottleneck"))
    return {key: value for key, value in queue.items() if key != "kind"}


def _scaled(value: Any) -> Iterator[Any]:
    """A number or a quantity, halved and doubled; whole numbers stay whole."""
    if isinstance(value, bool):
        return
    for factor in FACTORS:
        if isinstance(value, int):
            yield round(value * factor)
        elif isinstance(value, float):
            yield float(f"{value * factor:.10g}")
        elif isinstance(value, str) and (parts := re.fullmatch(r"([0-9.]+) (\S+)", value)):
            number = float(parts[1]) * factor
            whole = parts[2] in COUNTED
            yield f"{round(number) if whole else f'{number:.10g}'} {parts[2]}"


COUNTED = ("packets", "bytes", "buffers", "cells", "segments")
"""Units of which there are no halves."""
