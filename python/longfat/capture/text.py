"""Text of `longfat trace`. Whatever comes out of a capture is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding

from longfat._longfat import Bottleneck, Capture, Connection
from longfat.capture.compare import Row
from longfat.capture.experiment import lost
from longfat.report.columns import Column, print_columns
from longfat.report.terminal import ENDLESS, clean, escape, number
from longfat.text import count

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


COLUMNS = ["", "from", "to", "at", "payload", "goodput", "rtt min", "mean", "flight", "bottleneck", "retrans", "cause"]
WIDE = 132
"""Columns from which the table shows all of a connection; in fewer its ends, its cause and its retransmissions stand below alone."""
BELOW = ("from", "to", "at", "cause", "retrans")


def connection_row(one: Connection) -> list[str]:
    """A connection in the columns of `COLUMNS`."""
    data, rtt, bottleneck, verdict = one.data, one.rtt, one.bottleneck, one.verdict
    least = "≥ " if bottleneck and bottleneck.is_lower_bound else ""
    return [
        str(one.number),
        clean(one.source),
        clean(one.destination),
        clean(one.capture_point),
        scaled(data.bytes_acked, "B"),
        scaled(data.goodput_bps, "b/s"),
        milliseconds(rtt and rtt.min_s),
        milliseconds(rtt and rtt.mean_s),
        scaled(data.flight_max_bytes, "B"),
        least + scaled(bottleneck and bottleneck.rate_bps, "b/s"),
        f"{data.retransmitted.segments:,}",
        clean(f"{' or '.join([verdict.cause, *verdict.cannot_tell_from])} ({100 * verdict.confidence:.0f} %)"),
    ]


def print_trace(console: Console, found: Capture, most: int) -> None:
    """A table of the connections with the most data, and the lines on each below it."""
    connections = found.connections
    shown = sorted(connections, key=lambda one: -one.data.bytes_acked)[:most]
    columns = [name for name in COLUMNS if console.width >= WIDE or name not in BELOW]
    if connections:
        _print_table(console, columns, [dict(zip(COLUMNS, connection_row(one), strict=True)) for one in shown])
    for one in shown:
        ends = f"[bold]{one.number}[/] {_text(one.source)} → {_text(one.destination)}, at: {_text(one.capture_point)}"
        console.print(ends, soft_wrap=console.width >= ENDLESS)
        for line in details(one):
            _print_line(console, line)
    if hidden := len(connections) - len(shown):
        console.print(f"and {count(hidden, 'connection')} more (--most)")
    if found.left_out:
        console.print(f"and {count(found.left_out, 'connection')} with less data, not kept (--keep)")
    if not connections:
        console.print("no TCP connection in it")


def _print_table(console: Console, columns: Sequence[str], rows: Sequence[dict[str, str]]) -> None:
    left = ("from", "to", "at", "cause", "simulation")
    made = [Column(name, [escape(row[name]) for row in rows], left=name in left) for name in columns]
    print_columns(console, made[:1], made[1:])


def _print_line(console: Console, line: str) -> None:
    """A line under a connection, cut between words where the terminal ends."""
    console.print(
        Padding(escape(line), (0, 0, 0, 2), expand=False) if console.width < ENDLESS else f"  {escape(line)}",
        soft_wrap=console.width >= ENDLESS,
    )


def details(one: Connection) -> list[str]:
    """The verdict on a connection, the next step, and what else it shows, a line each."""
    again, reordered, receiver = one.data.retransmitted, one.data.reordered, one.receiver
    verdict, control = one.verdict, one.control
    cause = f"{verdict.cause}, {100 * verdict.confidence:.0f} %"
    if alike := verdict.cannot_tell_from:
        cause += f" (cannot tell from: {'; '.join(alike)})"
    lines = [f"{cause}: {verdict.why}", f"next: {verdict.next}", *verdict.limits]
    if control.name:
        lines.append(f"congestion control: {control.name} ({100 * control.confidence:.0f} %): {control.why}")
    if bottleneck := one.bottleneck:
        lines += _bottleneck(bottleneck)
    if again.segments:
        said = ", ".join(f"{times:,} {name}" for key, name in KINDS.items() if (times := getattr(again, key)))
        needless = f"; {again.needless:,} of them needless" if again.needless else ""
        lines.append(f"retransmissions: {said}, in {count(one.data.episodes, 'episode')}{needless}")
        share, low, high = lost(one)
        if again.segments > again.needless:
            lines.append(f"lost: {percent(share)} of the segments ({percent(low)} to {percent(high)}, if losses are independent)")
    for name in ("SYN", "FIN"):
        if times := getattr(one, f"{name.lower()}s_retransmitted"):
            lines.append(f"{name} retransmissions: {times:,}")
    if moved := reordered.before_capture + reordered.behind_capture:
        lines.append(f"{count(moved, 'segment')} overtaken, and not lost")
    if receiver.zero_windows:
        lines.append(f"window closed {receiver.zero_windows:,} times, {number(receiver.zero_window_s)} s in all")
    return [clean(line) for line in [*lines, *one.notes]]


def percent(share: float) -> str:
    """`0.34 %`."""
    return f"{100 * share:.2g} %"


def _bottleneck(found: Bottleneck) -> list[str]:
    rates = [scaled(rate, "b/s") for rate in (found.rate_bps, found.rate_low_bps, found.rate_high_bps)]
    rate = f"at least {rates[0]} of IP packets" if found.is_lower_bound else f"{rates[0]} of IP packets ({rates[1]} to {rates[2]})"
    lines = [f"bottleneck: {rate}, by {found.trains:,} trains of {found.rate_by}"]
    if held := found.queue_at_losses_bytes:
        low, middle, high = (scaled(size, "B") for size in (held.low, held.median, held.high))
        lines.append(f"queue at losses: {middle} ({low} to {high})")
    burst = found.burst
    if burst and burst.at_first_loss_bytes is not None:
        passed, lost = scaled(burst.passed_bytes, "B"), scaled(burst.at_first_loss_bytes, "B")
        lines.append(f"burst tolerance: {passed} ahead of the bottleneck passed; the first loss came at {lost}")
    elif burst:
        lines.append(f"burst tolerance: at least {scaled(burst.passed_bytes, 'B')} ahead of the bottleneck passed")
    return lines


COMPARISON_COLUMNS = ["simulation", "goodput", "±", "gain", "rtt min", "mean", "flight", "retrans", "share"]
COMPARISON_BELOW = ("rtt min", "flight", "retrans")


def comparison_rows(rows: Sequence[Row]) -> list[list[str]]:
    """Rows of `longfat.capture.comparison` in the columns of `COMPARISON_COLUMNS`, unsorted: repeats may turn an order by goodput."""
    return [
        [
            row.name,
            scaled(row.goodput_bps, "b/s"),
            scaled(row.goodput_bps_half, "b/s") if row.goodput_bps_half is not None else "",
            _gain(row),
            milliseconds(row.rtt_min_s),
            milliseconds(row.rtt_mean_s),
            scaled(row.flight_max_bytes, "B"),
            f"{row.retransmitted:,}",
            f"{100 * row.lost_share:.2f} %",
        ]
        for row in rows
    ]


def _gain(row: Row) -> str:
    """`+12 ± 3 %`, or a word where the interval has zero in it."""
    if row.gain is None:
        return ""
    if row.gain_half is None:
        return f"{100 * row.gain:+.0f} %, one run"
    return f"{100 * row.gain:+.0f} ± {100 * row.gain_half:.0f} %" if row.differs else "none seen"


def print_comparison(console: Console, rows: Sequence[Row]) -> None:
    """The capture beside the simulation."""
    columns = [name for name in COMPARISON_COLUMNS if console.width >= WIDE or name not in COMPARISON_BELOW]
    _print_table(console, columns, [dict(zip(COMPARISON_COLUMNS, cells, strict=True)) for cells in comparison_rows(rows)])
    if repeats := max((row.repeats for row in rows), default=1):
        said = (
            f"means of {count(repeats, 'repeat')} with 95 % intervals (Student's t); gain: over the simulation as captured, by equal seeds"
        )
        console.print(said, soft_wrap=console.width >= ENDLESS)


def print_notes(console: Console, found: Capture) -> None:
    """Prints the problems of the files."""
    for file in found.files:
        for note in file.notes:
            console.print(f"[yellow]{_text(file.name)}:[/] {_text(note)}", soft_wrap=True)


def _text(value: str) -> str:
    return escape(clean(value))
