"""The time-sequence graph of a connection, and its instantaneous speed, from a table of packets.

The graph is that of tcptrace and xplot: time across, offset in the stream upwards. A segment is a vertical bar from its first byte to the
byte after its last; below runs the line of what has been acknowledged, above that of the window that the receiver allows. The table has
the columns of `Result.packets` (docs/results.md), whether a run left it or a capture.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from longfat._longfat import quantity
from longfat.lazy import np, pd
from longfat.plot.spec import Axis, Plot, Series, floats
from longfat.plot.units import scaled, with_unit
from longfat.results.result import Result

Part = Literal["segments", "retransmissions", "acks", "window", "sack", "drops", "marks"]
PARTS: tuple[Part, ...] = ("window", "segments", "sack", "retransmissions", "acks", "drops", "marks")
"""Parts of a time-sequence graph, in the order in which they are drawn."""

COLOURS: dict[Part, int] = {"window": 4, "segments": 0, "retransmissions": 1, "sack": 3, "acks": 2, "drops": 6, "marks": 5}

MOST_SPEEDS = 200_000
"""Most intervals of a graph of speed."""


@dataclass(frozen=True)
class Place:
    """A point where packets are looked at: rows of the table for data, and for what comes back."""

    name: str
    data: pd.DataFrame
    back: pd.DataFrame


def time_sequence(
    packets: pd.DataFrame | Result,
    *,
    flow: int = 0,
    at: str | int = "sender",
    window_scale: int | None = None,
    parts: Sequence[Part] = PARTS,
    id: str = "time-sequence",
    title: str = "",
    start: float | None = None,
    end: float | None = None,
) -> Plot:
    """The time-sequence graph of a flow's data.

    `packets` is a table of packets or a run that has one (`measure.packets`). `at` says where the packets are seen: at the `"sender"`, at
    the `"receiver"`, or before a link, by its number or, of a run, its name (`"bottleneck>"`). `window_scale` is the shift that the
    receiver's SYN offered (RFC 7323, section 2); a run knows it, and without it the line of the window is left out. `start` and `end` are
    seconds, and what lies outside is left out. Where nothing of `flow` was seen at that place, ValueError.

    A retransmission is known by its offset: it lies below the highest that passed before. At other places than the sender it may be
    a segment that was overtaken, too, and the legend says so.
    """
    place, series = _series(packets, flow, at, window_scale, parts)
    series = [cut for one in series if len((cut := _within(one, start, end)).x)]
    word, size = scaled("B", max((float(np.nanmax(np.asarray(one.y))) for one in series if len(one.y)), default=0.0))
    shown = [_in_units(one, size) for one in series]
    return Plot(
        id=id,
        title=title or f"Time-sequence graph at the {place.name}",
        x=Axis("time (s)", start=start, end=end),
        y=Axis(f"offset in the stream ({word})"),
        series=shown,
        caption="" if any(one.name.startswith("window") for one in series) or "window" not in parts else NO_WINDOW,
    )


NO_WINDOW = "Without the line of the receiver's window: its scale is not known."


def speed(
    packets: pd.DataFrame | Result,
    *,
    flow: int = 0,
    at: str | int = "sender",
    over_s: float = 1e-3,
    id: str = "speed",
    title: str = "",
    start: float | None = None,
    end: float | None = None,
) -> Plot:
    """Speed of a flow's data past a place: bits of IP packets in each `over_s` seconds, over that time.

    Places are those of `time_sequence`. Packets that an end sends at the same instant wait in its transmit queue: the speed at which they
    leave is seen before the next link. ValueError where nothing was seen, or where `over_s` makes more than 200,000 intervals.
    """
    place = _place(packets, flow, at)
    times, sizes = place.data["time_s"].to_numpy(), place.data["ip_bytes"].to_numpy()
    # (A capture's clock may run backwards.)
    begin = float(times.min()) if start is None else start
    until = float(times.max()) if end is None else end
    count = int(np.ceil((until - begin) / over_s)) + 1
    if not over_s > 0 or count > MOST_SPEEDS:
        raise ValueError(f"over_s = {over_s:g} makes more than {MOST_SPEEDS:,} intervals of {until - begin:g} s: take a longer one")
    which = np.floor((times - begin) / over_s).astype(np.int64)
    inside = (which >= 0) & (which < count)
    rates = np.bincount(which[inside], weights=sizes[inside] * 8.0, minlength=count) / over_s
    word, size = scaled("bit/s", float(rates.max(initial=0.0)))
    line = Series(f"each {_duration(over_s)}", floats(begin + np.arange(count) * over_s), floats(rates / size), step=True, markers=False)
    return Plot(
        id=id,
        title=title or f"Instantaneous speed at the {place.name}",
        x=Axis("time (s)", start=start, end=end),
        y=Axis(f"IP packets over {_duration(over_s)} ({word})", start=0),
        series=[line],
        caption=whole_packets(float(sizes.max(initial=0.0)) * 8.0 / over_s),
    )


def whole_packets(of_one: float) -> str:
    """Says that a rate may lie above the link's in an interval, by the rate that `of_one` packet makes there."""
    return f"An interval counts whole packets: one more is {with_unit(of_one, 'bit/s')}, which may lie above the link's rate"


def sequence_series(
    packets: pd.DataFrame | Result,
    *,
    flow: int = 0,
    at: str | int = "sender",
    window_scale: int | None = None,
    parts: Sequence[Part] = PARTS,
) -> list[Series]:
    """The series of `time_sequence`, in bytes: to set two flows or two runs into one plot, with colours of their own."""
    return _series(packets, flow, at, window_scale, parts)[1]


def window_scale(result: Result, flow: int = 0) -> int | None:
    """The shift that the receiver of a flow's data offered on its SYN; None where the run does not tell.

    From a window in the series and the field that announced it, or from a buffer that stays as it is.
    """
    facts = json.loads(result.resolved)["flow"]
    group = result.flows.loc[result.flows["flow"] == flow, "group"].iloc[0]
    asked = next((one for one in facts if one.get("name") == group), facts[0] if len(facts) == 1 else {})
    if asked.get("window_scale") is False:
        return 0
    sizing = asked.get("window_sizing", {}).get("kind")
    buffer = quantity(str(asked.get("receive_buffer", ""))) if sizing == "static" else None
    if buffer:
        # RFC 7323 §2.3: the least shift with which the whole buffer can be announced, and never over 14.
        return next((shift for shift in range(14) if int(buffer[0]) >> shift <= 0xFFFF), 14)
    return _scale_seen(result, flow)


def _scale_seen(result: Result, flow: int) -> int | None:
    series = result.flow_series
    if not len(series) or not len(result.packets):
        return None
    mine = series[(series["flow"] == flow) & (series["rwnd_bytes"] > 0)]
    came = _place(result, flow, "sender").back
    came: pd.DataFrame = came.loc[~came["flags"].str.contains("S") & (came["window"] > 0)]
    if not len(mine) or not len(came):
        return None
    # The largest window that a sample has, and the field of the last ACK before it.
    sample: Any = mine.iloc[int(mine["rwnd_bytes"].argmax())]
    before = came[came["time_s"] < sample["time_s"]]
    if not len(before):
        return None
    shift = np.log2(float(sample["rwnd_bytes"]) / float(before["window"].iloc[-1]))
    return round(float(shift)) if abs(shift - round(float(shift))) < 0.05 and 0 <= round(float(shift)) <= 14 else None


def _series(
    packets: pd.DataFrame | Result, flow: int, at: str | int, scale: int | None, parts: Sequence[Part]
) -> tuple[Place, list[Series]]:
    place = _place(packets, flow, at, needs_data=False)
    if scale is None and isinstance(packets, Result):
        scale = window_scale(packets, flow)
    made: list[Series] = []
    for part in PARTS:
        if part in parts:
            made += _part(part, packets, place, flow, scale)
    return place, made


def _part(part: Part, packets: pd.DataFrame | Result, place: Place, flow: int, scale: int | None) -> list[Series]:
    colour = COLOURS[part]
    if part in ("segments", "retransmissions"):
        again = _again(place.data)
        name = "segment" if part == "segments" else "retransmission" if place.name == "sender" else "retransmission, or overtaken"
        return _bars(name, place.data[again if part == "retransmissions" else ~again], colour)
    if part == "drops":
        return _drops(packets, flow)
    if part == "marks":
        marked = _rows(packets, flow, "forward", "marked")
        return _points("marked CE", marked, colour, marker=3)
    if part == "sack":
        return _sack(place.back, colour)
    acks = place.back[place.back["ack_bytes"].notna()]
    # A SYN's window is never scaled (RFC 7323 §2.2).
    if not len(acks) or (part == "window" and scale is None):
        return []
    edge = acks["ack_bytes"].to_numpy(np.float64)
    if part == "window":
        shifts = np.where(acks["flags"].str.contains("S"), 0, scale or 0)
        edge = edge + acks["window"].to_numpy(np.float64) * 2.0**shifts
    # An old ACK that was overtaken takes nothing back.
    name = "acknowledged" if part == "acks" else "window allows"
    dash = 0 if part == "acks" else 1
    return [Series(name, floats(acks["time_s"]), floats(np.maximum.accumulate(edge)), step=True, markers=False, colour=colour, dash=dash)]


def _again(data: pd.DataFrame) -> Any:
    """True for segments that lie below the highest offset that passed before them."""
    ends = (data["seq_bytes"] + data["len_bytes"]).to_numpy()
    highest = np.maximum.accumulate(np.concatenate([[-1], ends])[:-1])
    return data["seq_bytes"].to_numpy() < highest


def _bars(name: str, rows: pd.DataFrame, colour: int) -> list[Series]:
    if not len(rows):
        return []
    return [
        Series(name, floats(rows["time_s"]), floats(rows["seq_bytes"] + rows["len_bytes"]), low=floats(rows["seq_bytes"]), colour=colour)
    ]


def _points(name: str, rows: pd.DataFrame, colour: int, marker: int) -> list[Series]:
    if not len(rows):
        return []
    return [Series(name, floats(rows["time_s"]), floats(rows["seq_bytes"]), line=False, colour=colour, marker=marker)]


def _sack(back: pd.DataFrame, colour: int) -> list[Series]:
    """Points for each block at the time of its ACK; a block that the previous ACK had, too, says nothing new."""
    parts: list[pd.DataFrame] = []
    for number in range(1, 5):
        first, last = f"sack{number}_from_bytes", f"sack{number}_until_bytes"
        if first in back:
            some = back.loc[back[first].notna(), ["time_s", first, last]]
            parts.append(some.set_axis(["time_s", "from", "until"], axis=1))
    blocks = pd.concat(parts).drop_duplicates(["from", "until"]).sort_values(["time_s", "from"]) if parts else pd.DataFrame()
    if not len(blocks):
        return []
    return [Series("SACK", floats(blocks["time_s"]), floats(blocks["until"]), low=floats(blocks["from"]), colour=colour)]


def _drops(packets: pd.DataFrame | Result, flow: int) -> list[Series]:
    """Series of the flow's data that was lost, wherever: one for each link and reason."""
    table = _table(packets)
    mine = (table["flow"] == flow) & (table["direction"] == "forward")
    lost = table[mine & table["event"].str.startswith("dropped") & (table["len_bytes"] > 0)]
    made: list[Series] = []
    for number, ((link, event), rows) in enumerate(lost.groupby(["link", "event"], sort=True, dropna=False)):
        reason = str(event).removeprefix("dropped_").replace("_", " ")
        made += _points(f"dropped{_link_name(packets, link)}: {reason}", rows, COLOURS["drops"], marker=6 if not number else 4 + number % 3)
    return made


def _link_name(packets: pd.DataFrame | Result, link: Any) -> str:
    if pd.isna(link):
        return " at an end"
    if isinstance(packets, Result):
        return f" at {packets.links.loc[packets.links['link'] == int(link), 'name'].iloc[0]}"
    return f" at link {int(link)}"


def _table(packets: pd.DataFrame | Result) -> pd.DataFrame:
    return packets.packets if isinstance(packets, Result) else packets


def _rows(packets: pd.DataFrame | Result, flow: int, direction: str, event: str, link: int | None = None) -> pd.DataFrame:
    table = _table(packets)
    which = (table["flow"] == flow) & (table["direction"] == direction) & (table["event"] == event)
    return table[which if link is None else which & (table["link"] == link)]


def _place(packets: pd.DataFrame | Result, flow: int, at: str | int, *, needs_data: bool = True) -> Place:
    """ValueError where no data of the flow was seen there, and nothing that came back either, if that is enough."""
    ends = {"sender": ("sent", "delivered"), "receiver": ("delivered", "sent")}
    if at in ends:
        there, back = ends[str(at)]
        place = Place(str(at), _rows(packets, flow, "forward", there), _rows(packets, flow, "back", back))
    else:
        link = _link(packets, at)
        # The two directions of a link are numbered one after the other.
        place = Place(
            f"queue of {at if isinstance(at, str) else f'link {at}'}",
            _rows(packets, flow, "forward", "queued", link),
            _rows(packets, flow, "back", "queued", link ^ 1),
        )
    data = place.data[place.data["len_bytes"] > 0]
    if not len(data) and (needs_data or not len(place.back)):
        raise ValueError(f"no data of flow {flow} was seen at the {place.name}: the table of packets has none (`measure.packets`)")
    return Place(place.name, data, place.back)


def _link(packets: pd.DataFrame | Result, at: str | int) -> int:
    if isinstance(at, int):
        return at
    names = dict(zip(packets.links["name"], packets.links["link"], strict=True)) if isinstance(packets, Result) else {}
    if at not in names:
        choice = ", ".join(["sender", "receiver", *map(str, names)]) + ("" if names else ", or a link's number")
        raise ValueError(f"nothing is called {at!r} here: choose one of {choice}")
    return int(names[at])


def _within(series: Series, start: float | None, end: float | None) -> Series:
    """Cuts a series to `start` and `end`; a line also keeps the points before and after, to which it goes."""
    x = np.asarray(series.x)
    first = 0 if start is None else int(np.searchsorted(x, start, side="left"))
    last = len(x) if end is None else int(np.searchsorted(x, end, side="right"))
    if series.low is None and series.line and first < len(x):
        first, last = max(0, first - 1), min(len(x), last + 1)
    low = None if series.low is None else floats(np.asarray(series.low)[first:last])
    return replace(series, x=floats(x[first:last]), y=floats(np.asarray(series.y)[first:last]), low=low)


def _in_units(series: Series, size: float) -> Series:
    if size == 1:
        return series
    low = None if series.low is None else floats(np.asarray(series.low) / size)
    return replace(series, y=floats(np.asarray(series.y) / size), low=low)


def _duration(seconds: float) -> str:
    word, size = scaled("s", seconds)
    return f"{seconds / size:g} {word}"
