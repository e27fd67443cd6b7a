"""Captures out: what a host or a link of a run would have captured, as pcapng."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from pathlib import Path

from longfat._longfat import __version__
from longfat.errors import CaptureError
from longfat.store import Location, Store

SNAP = 128
"""Bytes of a packet that are written, unless something else is asked for: all headers, and no more."""


def write_capture(folder: str | Location, at: str, file: str | Path, *, run: str | None = None, snap: int = SNAP) -> int:
    """Writes what passed at `at`, a host or a link of a run in the results at `folder`, to `file` as pcapng; how many packets.

    `run` is the hash of the run, or how it begins; it may be left out where there is only one. Each packet is cut to its first `snap`
    bytes. The run must have recorded its packets (`measure.packets`).

    CaptureError where that place or run is not there, or was not recorded; StorageError.
    """
    store = Store(folder)
    found = _run(store, run)
    trace, facts = store.trace(found)
    labels = "".join(f", {name} = {value}" for name, value in facts["labels"].items())
    heading = f"longfat {__version__}: {facts['title']}{labels}; at {at}; run {found}, seed {facts['seed']}; payload is zeros"
    comment = f"{heading}\n{json.dumps(json.loads(facts['resolved']), separators=(',', ':'))}"
    path = Path(file)
    try:
        count = trace.capture(path, at, comment, snap)
    except OSError as error:
        raise CaptureError(f"cannot write {path}: {error}") from error
    if count == 0:
        raise CaptureError(f"no packet passed at `{at}`: {path} holds none")
    return count


def _run(store: Store, asked: str | None) -> str:
    hashes: list[str] = store.load().runs["run"].tolist()
    found = [one for one in hashes if one.startswith(asked or "")]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CaptureError(f"no run in {store.folder} begins with {asked}: `longfat show` lists them")
    raise CaptureError(f"{len(found)} runs to choose from: say which with --run, one of {', '.join(one[:8] for one in found[:8])} ...")
