"""Packet captures: what `longfat trace` finds of the connection with most data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longfat.errors import LongfatError
from longfat.fit.data import Measurement
from longfat.fit.readers.names import Names

FLOW = "measured"
ENDINGS = (".pcap", ".pcapng", ".cap")


def takes(path: Path) -> bool:
    """True for a file that is called as a capture is, compressed or not."""
    return any(ending in path.suffixes for ending in ENDINGS)


def read(path: Path, _: Names) -> list[Measurement]:
    """Reads the connection with most data. Raises LongfatError where it shows too little."""
    from longfat.capture import reader

    one: Any = reader.chosen(reader.read(path), None)
    if one.captured != "both ways" or not one.rtt or not one.data.goodput_bps:
        raise LongfatError(f"{path}: shows too little of its largest connection: expected data and acknowledgments, both ways")
    values = {
        f"{FLOW}.goodput_bps": float(one.data.goodput_bps),
        f"{FLOW}.rtt_min_s": float(one.rtt.min_s),
        f"{FLOW}.rtt_mean_s": float(one.rtt.mean_s or one.rtt.min_s),
        f"{FLOW}.retransmit_share": one.data.retransmitted.segments / max(1, one.data.segments),
    }
    setting = {
        "flow.congestion_control": json.dumps(one.control.name or "cubic"),
        "flow.streams": "1",
        "measure.duration": f'"{max(1.0, one.duration_s):.3f} s"',
        "measure.warmup": '"0 s"',
    }
    return [Measurement(setting, {name: value for name, value in values.items() if value > 0 or "share" in name}, {}, str(path))]
