"""What `longfat trace` prints. Whatever comes out of a capture is escaped."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from longfat.terminal import clean, count, escape, number

KINDS = {"fast": "fast", "timeout": "timeout", "tail_probe": "tail probe", "unknown": "unexplained"}
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(value: float | None, unit: str) -> str:
    """`1.5 Mb/s`."""
    if value is None:
        return "–"
    for size, prefix in UNITS:
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def milliseconds(value: float | None) -> str:
    """A time in ms."""
    return "–" if value is None else f"{number(1e3 * value)} ms"


def print_trace(console: Console, found: dict[str, Any], most: int) -> None:
    """A table of the connections with the most data, and what is to be said of each."""
    connections = found["connections"]
    shown = sorted(connections, key=lambda one: -one["data"]["bytes_acked"])[:most]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", "from", "to", "at", "payload", "goodput", "rtt min", "mean", "flight", "sent again", "cause"):
        table.add_column(name, justify="left" if name in ("from", "to", "at", "cause") else "right")
    for one in shown:
        data: dict[str, Any] = one["data"]
        rtt: dict[str, float] = one["rtt"] or {}
        verdict = one.get("verdict")
        table.add_row(
            str(one["number"]),
            _text(one["from"]),
            _text(one["to"]),
            _text(one["capture_point"]),
            scaled(data["bytes_acked"], "B"),
            scaled(data["goodput_bps"], "b/s"),
            milliseconds(rtt.get("min_s")),
            milliseconds(rtt.get("mean_s")),
            scaled(data["flight_max_bytes"], "B"),
            f"{data['retransmitted']['segments']:,}",
            _text(f"{verdict['cause']} ({100 * verdict['confidence']:.0f} %)" if verdict else ""),
        )
    if connections:
        console.print(table)
    for one in shown:
        _print_details(console, one)
    hidden = len(connections) - len(shown) + found["left_out"]
    if hidden:
        console.print(f"and {count(hidden, 'connection')} more (--most)")
    if not connections:
        console.print("no TCP connection in it")


def _print_details(console: Console, one: dict[str, Any]) -> None:
    again, reordered, receiver = one["data"]["retransmitted"], one["data"]["reordered"], one["receiver"]
    lines: list[str] = []
    if verdict := one.get("verdict"):
        lines += [f"{verdict['cause']}: {verdict['why']}", *verdict["limits"]]
        if control := verdict.get("control"):
            lines.append(control)
    if again["segments"]:
        kinds = [
            (name, again[key])
            for name, key in (("fast", "fast"), ("timeout", "timeout"), ("tail probe", "tail_probe"), ("unexplained", "unknown"))
        ]
        said = ", ".join(f"{n:,} {name}" for name, n in kinds if n)
        needless = f"; {again['needless']:,} had arrived before" if again["needless"] else ""
        lines.append(f"sent again: {said}, in {count(one['data']['episodes'], 'episode')}{needless}")
    if moved := reordered["before_capture"] + reordered["behind_capture"]:
        lines.append(f"{count(moved, 'segment')} overtaken, and not lost")
    if receiver["zero_windows"]:
        lines.append(f"window closed {receiver['zero_windows']:,} times, {number(receiver['zero_window_s'])} s in all")
    lines += one["notes"]
    if lines:
        console.print(f"[bold]{one['number']}[/] {_text(one['from'])} → {_text(one['to'])}", soft_wrap=True)
        for line in lines:
            console.print(f"  {_text(line)}", soft_wrap=True)


def print_notes(console: Console, found: dict[str, Any]) -> None:
    """What is wrong with the files."""
    for file in found["files"]:
        for note in file["notes"]:
            console.print(f"[yellow]{_text(file['name'])}:[/] {_text(note)}", soft_wrap=True)


def _text(value: str) -> str:
    return escape(clean(value))
