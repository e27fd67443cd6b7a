"""Logs of `ss -ti`: what Linux says of a socket, once or again and again (ss(8))."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

from longfat.errors import LongfatError
from longfat.fit.data import Measurement
from longfat.fit.readers.names import Names

FLOW = "measured"
ENDPOINTS = re.compile(r"^(?:tcp\s+)?ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+)", re.MULTILINE)


def takes(path: Path) -> bool:
    """True for text with lines of ss."""
    if not path.is_file() or path.suffix in (".json", ".csv", ".tsv"):
        return False
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return b"\0" not in head and re.search(rb"\brtt:[\d.]+/[\d.]+", head) is not None


def read(path: Path, _: Names) -> list[Measurement]:
    """Reads the connection that sent most. Raises LongfatError where lines lack what `ss -ti` prints."""
    text = path.read_text(encoding="utf-8", errors="replace")
    places = list(ENDPOINTS.finditer(text))
    blocks: dict[tuple[str, str], list[str]] = {}
    for number, found in enumerate(places):
        end = places[number + 1].start() if number + 1 < len(places) else len(text)
        blocks.setdefault((found[1], found[2]), []).append(text[found.end() : end])
    if not blocks:
        blocks[("", "")] = re.split(r"(?=\b(?:cubic|reno|bbr|htcp|bic|vegas|westwood|illinois|scalable|hybla|yeah|dctcp)\b)", text)
    chosen = max(blocks, key=lambda pair: _last(blocks[pair], r"bytes_sent:(\d+)") or _last(blocks[pair], r"bytes_acked:(\d+)") or 0.0)
    some = [block for block in blocks[chosen] if "rtt:" in block]
    trips = [float(found[1]) for block in some if (found := re.search(r"\brtt:([\d.]+)/", block))]
    sent = _last(some, r"bytes_sent:(\d+)") or _last(some, r"bytes_acked:(\d+)")
    acked = _last(some, r"bytes_acked:(\d+)")
    control = (
        re.search(r"(?m)^\s*(?:\S+\s+)*?(cubic|reno|bbr|htcp|bic|vegas|westwood|illinois|scalable|hybla|yeah|dctcp)\b", some[-1])
        if some
        else None
    )
    if not some or not sent or not acked or not control:
        raise LongfatError(f"{path}: expected lines of `ss -ti` with a control, rtt and bytes_acked: log the sending host's sockets")
    busy = _last(some, r"\bbusy:(\d+)ms")
    if not busy:
        raise LongfatError(f"{path}: has no busy time, by which ss counts while there is data to send: expected ss of Linux 4.10 or later")
    values = {f"{FLOW}.goodput_bps": 8 * acked / (busy / 1e3), f"{FLOW}.rtt_mean_s": fmean(trips) / 1e3}
    if least := _last(some, r"minrtt:([\d.]+)"):
        values[f"{FLOW}.rtt_min_s"] = least / 1e3
    values[f"{FLOW}.retransmit_share"] = (_last(some, r"bytes_retrans:(\d+)") or 0.0) / sent
    setting = {
        "flow.congestion_control": json.dumps(control[1]),
        "flow.streams": "1",
        "measure.duration": f'"{max(1.0, busy / 1e3):g} s"',
        "measure.warmup": '"0 s"',
    }
    return [Measurement(setting, values, {}, str(path))]


def _last(blocks: list[str], pattern: str) -> float | None:
    """The last value of a field, which is of the whole connection until then."""
    found = [float(one[1]) for block in blocks for one in re.finditer(pattern, block)]
    return found[-1] if found else None
