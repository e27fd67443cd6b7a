"""The command `longfat probe`: the path to a server in 20 seconds, 40 round trips and 20 MB."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, cast

import typer

from longfat.errors import ExperimentError, LongfatError
from longfat.experiment import Experiment
from longfat.lazy import np
from longfat.live import controls, iperf, stamp
from longfat.live.seen import HEADERS, MTU
from longfat.live.survey import Codepoint, Direction, Survey, survey
from longfat.report import terminal
from longfat.sweep.work import execute

out = terminal.console()

TRANSFER_S, MOST, LEAST = 2.0, 4_000_000, 100_000
"""One transfer each way, one so long after the other: half of that at the rate of the burst, and so many bytes."""

LIMIT_S, TRIPS = 20.0, 40
"""The whole probe ends so many seconds and round trips after the server let it begin."""

TOO_SLOW = f"it needs {8 * LEAST / 1e3:.0f} kbit/s each way"


@dataclass(frozen=True)
class Transfer:
    """A TCP transfer, by the numbers of RFC 6349 section 4."""

    goodput_bps: float
    tcp_efficiency: float
    """Share of the payload sent that was no retransmission; 0 to 1."""
    buffer_delay: float
    """Mean round trip of the transfer over the idle one, less 1."""
    transfer_time_ratio: float
    """Time of the transfer over the time at the rate of the bottleneck; NaN where the burst did not find the rate."""


def probe_command(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="Address of a `longfat serve`, with :PORT unless it is 5277; or stamp://HOST:PORT.")
    ],
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Key of the server; without one it must be open.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at the path to a `longfat serve`, in 20 s and 40 round trips: RTT, routers, MTU, codepoints, rate, memory."""
    if host.startswith(iperf.SCHEME):
        raise LongfatError(f"{host}: iperf3 has TCP alone. help: `longfat measure {host}`")
    if host.startswith(stamp.SCHEME):
        if key:
            raise LongfatError(f"--key {key}: STAMP is measured without a key")
        found = stamp.stamp(host)
        if as_json:
            print(json.dumps(_plain({"host": host, **asdict(found)}), indent=2))
        else:
            for text in stamp.lines(found):
                out.print(terminal.escape(text), soft_wrap=True, highlight=False)
        return
    begun = time.monotonic()
    seen = survey(host, key)
    trip = max([rtt for rtt in (seen.base_rtt_before_s, *seen.rtt_s) if not math.isnan(rtt)], default=0.0)
    deadline = begun + seen.waited_s + LIMIT_S + TRIPS * trip
    moved: dict[str, Transfer] = {}
    lost = seen.lost
    if lost is None and is_fast_enough(seen):
        try:
            moved = transfers(host, key, seen, deadline)
        except _OverTime:
            pass
        except ExperimentError as error:
            lost = str(error).removeprefix(f"{host}: ")
        if lost is None and len(moved) < 2:
            seen = replace(seen, cut=(*seen.cut, "TCP"))
    if as_json:
        tcp = {way: asdict(one) for way, one in moved.items()}
        print(json.dumps(_plain({"host": host, **asdict(seen), "lost": lost, "tcp": tcp}), indent=2))
    else:
        for text in lines(host, seen, moved):
            out.print(terminal.escape(text), soft_wrap=True, highlight=False)
    if lost is not None:
        raise ExperimentError(f"the probe is not whole, because the far host was lost: {lost}")


def is_fast_enough(seen: Survey) -> bool:
    """False where the least transfer does not fit into a second, or no rate is known: the far host's samples would take too long."""
    rates = [found.rate_bps.value if found and found.rate_bps else 0.0 for found in (seen.up, seen.down)]
    return min(rates) >= 8 * LEAST


class _OverTime(Exception):
    """Raised inside a run to end it."""


def transfers(host: str, key: str | None, seen: Survey, deadline: float) -> dict[str, Transfer]:
    """One transfer `up` and then one `down`, by the `deadline` of the monotonic clock: what there is by then is measured.

    LongfatError where the server is not there, or says no. `_OverTime` where neither began.
    """

    def progress(_: float) -> None:
        if time.monotonic() > deadline:
            raise _OverTime

    named = f"key = {json.dumps(key)}" if key else ""
    volumes = [_volume(found) for found in (seen.up, seen.down)]
    control = {way: controls.line(name) for way, name in controls.own(host, key).items()}
    experiment = Experiment(f"""
        backend = "live"
        [live]
        survey = false
        [[live.host]]
        name = "here"
        at = "local"
        [[live.host]]
        name = "there"
        at = {json.dumps(host)}
        {named}
        [[flow]]
        name = "up"
        stack = "linux"
        {control["up"]}
        traffic = {{ kind = "ttcp", volume = "{volumes[0]} bytes" }}
        [[flow]]
        name = "down"
        stack = "linux"
        from = "there"
        to = "here"
        start = "{TRANSFER_S} s"
        {control["down"]}
        traffic = {{ kind = "ttcp", volume = "{volumes[1]} bytes" }}
        [measure]
        duration = "{2 * TRANSFER_S} s"
    """)
    result = execute(experiment.resolve(0), "", progress)[0]
    idle = min([rtt for rtt in (result.real_time["base_rtt_before_s"], *seen.rtt_s) if rtt], default=math.nan)
    made: dict[str, Transfer] = {}
    for (way, found, begun), (_, flow) in zip(
        (("up", seen.up, 0.0), ("down", seen.down, TRANSFER_S)), result.flows.iterrows(), strict=True
    ):
        delivered, sent = float(flow["bytes_delivered"]), max(float(flow["bytes_sent"]), 1.0)
        if result.end_s <= begun:
            continue
        whole = float(flow["delivered_all_s"])
        # A transfer that was not over has its time until the end.
        took = (whole if whole > begun else result.end_s) - begun
        efficiency = 1 - float(flow["bytes_retransmitted"]) / sent
        ratio = math.nan
        if found and found.rate_bps and found.is_bottleneck and delivered:
            ratio = took * found.rate_bps.value / (8 * delivered * MTU / (MTU - HEADERS))
        made[way] = Transfer(8 * delivered / took, efficiency, float(flow["rtt_mean_s"]) / idle - 1, ratio)
    return made


def _volume(found: Direction | None) -> int:
    """Bytes of a transfer."""
    rate = found.rate_bps.value if found and found.rate_bps else 0.0
    return round(min(max(rate * TRANSFER_S / 16, LEAST), MOST))


def lines(host: str, seen: Survey, moved: dict[str, Transfer]) -> list[str]:
    """Everything that is known of the path, a sentence each."""
    said = [_trips(host, seen), *_one_way(seen), _routers(seen), _mtu(seen), _codepoints(seen.codepoints)]
    for way, found in (("up", seen.up), ("down", seen.down)):
        said.append(f"{way:5} {_direction(found)}")
        one = moved.get(way)
        if one is None:
            said.append("      TCP not measured" + ("" if seen.lost or is_fast_enough(seen) else f": {TOO_SLOW}"))
            continue
        ratio = "unknown" if math.isnan(one.transfer_time_ratio) else f"{one.transfer_time_ratio:.2f}"
        said.append(
            f"      TCP {one.goodput_bps / 1e6:,.1f} Mbit/s; RFC 6349: efficiency {100 * one.tcp_efficiency:.2f} %, "
            f"buffer delay {100 * one.buffer_delay:.0f} %, transfer time ratio {ratio}"
        )
    nat = [f"{at} ({what})" for what, at in (("TCP", seen.nat_control), ("UDP", seen.nat_udp)) if at]
    if nat:
        said.append(f"NAT on the way: the far host sees this one as {' and '.join(nat)}")
    if not math.isnan(seen.rate_limit_bps):
        said.append(f"The server bounds bursts and flows to {seen.rate_limit_bps / 1e6:,.0f} Mbit/s.")
    if seen.cut:
        said.append(f"No time was left for: {', '.join(seen.cut)}.")
    return said


def _trips(host: str, seen: Survey) -> str:
    at = host if host == seen.address else f"{host} ({seen.address})"
    if not seen.rtt_s:
        return f"{at}: none of {seen.asked} questions was answered"
    low, middle, high = (1e3 * float(np.quantile(seen.rtt_s, part)) for part in (0, 0.5, 1))
    tcp = ", ".join(f"{1e3 * rtt:.2f} ms {when}" for rtt, when in ((seen.base_rtt_before_s, "before"), (seen.base_rtt_after_s, "after")))
    return f"{at}: RTT {middle:.2f} ms ({low:.2f} to {high:.2f}), {len(seen.rtt_s)} of {seen.asked} answered; TCP handshakes {tcp}"


def _one_way(seen: Survey) -> list[str]:
    known = [rtt for rtt in (seen.base_rtt_before_s, seen.base_rtt_after_s, *seen.rtt_s) if not math.isnan(rtt)]
    return [f"one-way delay without queues: 0 to {1e3 * min(known):.2f} ms each way; the clocks are not compared"] if known else []


def _routers(seen: Survey) -> str:
    if seen.routers_up is None:
        return "routers unknown"
    back = "unknown" if seen.routers_down is None else str(seen.routers_down)
    hops = [f"{hop.ttl} {hop.address} ({1e3 * hop.rtt_s:.2f} ms)" if hop.address else f"{hop.ttl} silent" for hop in seen.hops]
    return f"routers: {seen.routers_up} up, {back} down{': ' if hops else ''}{', '.join(hops)}"


def _mtu(seen: Survey) -> str:
    if seen.mtu_up_bytes is None:
        return "MTU unknown"
    down = "unknown" if seen.mtu_down_bytes is None else f"{seen.mtu_down_bytes} bytes"
    least = " or more" if seen.mtu_up_bytes == seen.mtu_tried_bytes else ""
    text = f"MTU {seen.mtu_up_bytes} bytes{least} up, {down} down"
    sources = [f"{router or 'this host'} says {mtu}" for router, mtu in seen.too_big]
    if sources:
        return f"{text}; {', '.join(sources)}"
    return text if least else f"{text}; no router says so, so TCP without MTU probing hangs (RFC 2923 section 2.1)"


def _codepoints(all_: tuple[Codepoint, ...]) -> str:
    if not all_:
        return "codepoints unknown"
    changed = [
        f"{Codepoint.name(one.sent)} {'is lost' if seen is None else f'becomes {Codepoint.name(seen)}'} {way}"
        for one in all_
        # An answer that is lost tells nothing of the direction up.
        for way, seen in (("up", one.up), ("down", one.down if one.up is not None else one.sent))
        if seen != one.sent
    ]
    return "codepoints: " + ("; ".join(changed) if changed else f"all {len(all_)} tried arrive as they were sent, each way")


def _direction(found: Direction | None) -> str:
    if found is None or found.rate_bps is None:
        return "rate unknown: too little of the burst arrived"
    rate = found.rate_bps
    least = "" if found.is_bottleneck else "at least "
    text = f"{least}{rate.value / 1e6:,.1f} Mbit/s ({rate.low / 1e6:,.1f} to {rate.high / 1e6:,.1f})"
    if found.memory_bytes is not None:
        memory = found.memory_bytes
        text += f", memory {memory.value / 1e3:,.0f} kB ({memory.low / 1e3:,.0f} to {memory.high / 1e3:,.0f})"
    elif not math.isnan(found.memory_least_bytes):
        text += f", memory at least {found.memory_least_bytes / 1e3:,.0f} kB"
    places = ((found.lost_at_full_queue, "at the full queue"), (found.lost_otherwise, "otherwise"))
    lost = [f"{count} {where}" for count, where in places if count]
    return f"{text}; lost of {found.sent} packets: {', '.join(lost) if lost else 'none'}"


def _plain(value: Any) -> Any:
    """NaN is no number of JSON: it becomes null."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("list[Any]", value)]
    return None if isinstance(value, float) and math.isnan(value) else value
