"""The page of a capture: what `longfat trace` says of it, and the graphs of a connection.

The template escapes whatever comes from outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longfat._longfat import Capture, Connection
from longfat.capture.compare import Row
from longfat.capture.text import COLUMNS, COMPARISON_COLUMNS, comparison_rows, connection_row, details
from longfat.lazy import pd
from longfat.plot import Axis, Plot, Series, speed, time_sequence
from longfat.report.page import Page, render, shown_plots
from longfat.report.terminal import clean

MOST_ROWS = 500


def trace_page(found: Capture, connection: Connection, packets: pd.DataFrame, rows: Sequence[Row] = ()) -> Page:
    """A page of all connections of `found`, with the graphs of `connection` from its `packets`; `rows` is what `comparison` gave."""
    ordered = sorted(found.connections, key=lambda one: -one.data.bytes_acked)
    tables = {"Connections": _table(COLUMNS, [connection_row(one) for one in ordered])}
    if rows:
        tables["Beside the simulation"] = _table(COMPARISON_COLUMNS, comparison_rows(rows))
    plots = list(_graphs(connection, packets))
    names = ", ".join(clean(Path(file.name).name) for file in found.files)
    said = "\n".join(details(connection))
    page = render(title=f"Trace of {names}", description=said, plots=shown_plots(plots), outcome=tables, alone=True)
    return Page(page, plots, [])


def _table(columns: list[str], rows: list[list[str]]) -> dict[str, Any]:
    return {"columns": columns, "rows": rows[:MOST_ROWS], "left_out": max(0, len(rows) - MOST_ROWS), "long": False}


def _graphs(connection: Connection, packets: pd.DataFrame) -> list[Plot]:
    flow = connection.number
    place = connection.capture_point
    table, at = packets, place
    if place not in ("sender", "receiver"):
        # In between, data and what comes back pass the same place: it is shown as a sender there would see it.
        table = packets.assign(event=["sent" if way == "forward" else "delivered" for way in packets["direction"]])
        at = "sender"
    where = {"sender": "at the sender", "receiver": "at the receiver"}.get(place, "where it was captured")
    plots: list[Plot] = []
    has_data = bool(((table["direction"] == "forward") & (table["len_bytes"] > 0)).any())
    if has_data or (table["direction"] == "back").any():
        plots.append(
            time_sequence(table, flow=flow, at=at, window_scale=connection.options.window_scale, title=f"Time-sequence graph {where}")
        )
    if has_data:
        # A power of ten, so that there are a thousand points and more.
        over = 10.0 ** max(-3, math.floor(math.log10(max(connection.duration_s, 1e-3) / 1000)))
        plots.append(speed(table, flow=flow, at=at, over_s=over, title=f"Instantaneous speed {where}"))
    return plots + _series(connection)


def _series(connection: Connection) -> list[Plot]:
    series = connection.series
    time = series.time_s

    def line(name: str, values: Sequence[float | None], size: float) -> Series:
        return Series(name, time, [math.nan if value is None else value / size for value in values], markers=False)

    window = [line("in flight, as the sender saw it", series.flight_max_bytes, 1e3)]
    if connection.receiver.window_is_scaled and any(value is not None for value in series.window_min_bytes):
        window.append(line("window that the receiver offered", series.window_min_bytes, 1e3))
    plots = [Plot("flight", "In flight", Axis("time (s)"), Axis("bytes (kB)"), window)]
    if any(value is not None for value in series.rtt_mean_s):
        plots.append(Plot("rtt", "Round trips", Axis("time (s)"), Axis("round trip (ms)"), [line("mean", series.rtt_mean_s, 1e-3)]))
    return plots
