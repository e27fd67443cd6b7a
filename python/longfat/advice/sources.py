"""A question's path from a file: an experiment, a packet capture, or what `iperf3 --json` wrote."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from longfat._longfat import quantity
from longfat.advice.question import HEADERS
from longfat.errors import LongfatError
from longfat.experiment import Experiment, load
from longfat.iperf3 import SUFFIXES, tests
from longfat.plot.units import with_unit

ALWAYS = ("bulk", "ttcp")
"""Kinds of traffic that compete all the time."""


@dataclass
class Source:
    """The words of a question that a file knows, and sentences on where they come from."""

    words: dict[str, Any] = field(default_factory=dict[str, Any])
    told: list[str] = field(default_factory=list[str])


def read_source(file: str | Path, given: Collection[str] = ()) -> Source:
    """Reads the path from a file, by its kind. Words that are `given` need not be in it. Raises LongfatError."""
    path = Path(file)
    if path.suffix == ".toml":
        return of_experiment(load(path), given, str(path))
    if not path.is_file():
        raise LongfatError(f"{path}: there is no such file")
    if path.suffix in SUFFIXES:
        return of_iperf3(path)
    if any(one in (".pcap", ".pcapng", ".cap") for one in path.suffixes):
        return of_capture(path, given)
    raise LongfatError(f"{path}: expected an experiment (.toml), a capture (.pcap, .pcapng) or the output of iperf3 --json (.json)")


def of_experiment(experiment: Experiment, given: Collection[str], name: str) -> Source:
    """Takes path and competing flows of an experiment; the first `[[flow]]` is the one to set.

    Loss and buffer may have several values. LongfatError where anything else does, or is not what advice can ask about.
    """
    runs = [json.loads(run.resolved) for run in experiment.resolve_all() if not run.repeat]
    paths = [_path(run, given, name) for run in runs]
    words: dict[str, Any] = {}
    for key in paths[0]:
        values = list(dict.fromkeys(one[key] for one in paths))
        if key in given:
            continue
        if len(values) > 1 and key not in ("loss", "buffer"):
            option = f"--{key}" if key != "mtu" else "--mtu BYTES"
            raise LongfatError(f"{name}: has several values of {key} ({', '.join(map(str, values))}): choose one with {option}")
        # The several losses of a file are cases, as several of `--loss` are.
        words[key] = ",".join(str(value) for value in values) if key in ("loss", "buffer") else values[0]
    words = {key: value for key, value in words.items() if value is not None and value != "None"}
    return Source(words, [f"The path is that of {name}."])


def _path(run: Mapping[str, Any], given: Collection[str], name: str) -> dict[str, Any]:
    """The words of one resolved run, under the names of `question.read`."""
    flow = run["flow"][0]
    links = _route(run["path"]["link"], _first(flow["from"]), _first(flow["to"]))
    if not links:
        raise LongfatError(f"{name}: no links lead from {_first(flow['from'])} to {_first(flow['to'])}")
    neck = min(links, key=lambda link: (not link.get("bottleneck"), _ip_rate(link)))
    rate, mtu = _ip_rate(neck), round(_value(neck["mtu"]))
    rtt = sum(_value(link["delay"]) + _value(link.get("reverse", {}).get("delay", link["delay"])) for link in links)
    queue, loss = neck["queue"], neck["loss"]
    made: dict[str, Any] = {"rate": f"{round(rate)} bit/s", "rtt": f"{round(1e6 * rtt)} us", "mtu": mtu}
    edges = [_ip_rate(link) for link in links if link is not neck]
    made["edge"] = f"{round(min(edges))} bit/s" if edges else None
    if queue["kind"] == "policer":
        made["policer"], made["burst"] = queue["rate"], _bytes(queue["burst"])
    elif queue["kind"] == "droptail":
        made["buffer"] = _buffer(queue["limit"], rate * rtt / 8)
    elif "buffer" not in given:
        raise LongfatError(f"{name}: has the queue {queue['kind']}, and advice knows droptail and policer: say how large with --buffer")
    if "loss" not in given:
        kinds = {"none": 0.0, "bernoulli": loss.get("probability", 0.0)}
        if loss["kind"] not in kinds:
            raise LongfatError(f"{name}: has losses of the kind {loss['kind']}, and advice knows bernoulli: say how many with --loss")
        made["loss"] = f"{kinds[loss['kind']]:g}"
    if "competing" not in given and "load" not in given:
        made["competing"] = _competing(run["flow"], name)
    if flow.get("streams", 1) > 1:
        made["streams"] = flow["streams"]
    return made


def _competing(flows: Sequence[Mapping[str, Any]], name: str) -> str:
    """Flows besides the first, in the words of `--competing`. Probes compete with nothing."""
    others = [flow for flow in flows[1:] if flow["count"] and flow["traffic"]["kind"] != "ping"]
    if wrong := [flow for flow in others if flow["traffic"]["kind"] not in ALWAYS]:
        raise LongfatError(
            f"{name}: has the flow {wrong[0]['name']} with traffic {wrong[0]['traffic']['kind']}, which does not compete all the time: "
            "say what does with --competing or --load"
        )
    controls = {flow["congestion_control"]["kind"] for flow in others}
    if len(controls) > 1:
        raise LongfatError(f"{name}: has competing flows of several controls ({', '.join(sorted(controls))}): choose with --competing")
    count = sum(flow["count"] * flow.get("streams", 1) for flow in others)
    return f"{count} {controls.pop()}" if controls else "none"


def _route(links: Sequence[Mapping[str, Any]], start: str, end: str) -> list[Mapping[str, Any]]:
    """The links of the path of fewest links."""
    before: dict[str, tuple[str, Mapping[str, Any]]] = {}
    reached, front = {start}, [start]
    while front and end not in reached:
        ahead: list[str] = []
        for node in front:
            for link in links:
                other = {link["from"]: link["to"], link["to"]: link["from"]}.get(node)
                if other and other not in reached:
                    reached.add(other)
                    before[other] = (node, link)
                    ahead.append(other)
        front = ahead
    made: list[Mapping[str, Any]] = []
    while end in before:
        end, link = before[end]
        made.append(link)
    return made[::-1]


def _first(names: object) -> str:
    return str(cast("list[object]", names)[0]) if isinstance(names, list) else str(names)


def _value(text: str) -> float:
    found = quantity(text)
    assert found, text
    return found[0]


def _bytes(text: str) -> str:
    return f"{round(_value(text))} bytes"


def _ip_rate(link: Mapping[str, Any]) -> float:
    """Rate of full IP packets: that of a link is of frames."""
    mtu = _value(link["mtu"])
    return _value(link["rate"]) * mtu / (mtu + _value(link["overhead"]))


def _buffer(limit: str, bdp: float) -> str:
    """A limit as a question has it: as a share of the product where it is one, else in bytes."""
    found = quantity(limit)
    if not found or found[1] != "bytes":
        return limit
    share = round(found[0] / bdp, 3) if bdp else 0.0
    return f"{share:g} bdp" if share and abs(share * bdp - found[0]) <= 1 else _bytes(limit)


def of_capture(file: Path, given: Collection[str]) -> Source:
    """Takes what `longfat trace` estimates of the connection with most data. Raises LongfatError where it shows too little."""
    from longfat.capture import reader
    from longfat.capture.experiment import experiment

    text = experiment(reader.chosen(reader.read(file), None))
    found = of_experiment(Experiment(text, name="captured"), {*given, "edge"}, str(file))
    lines = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    # A capture tells nothing of a loss that it does not show, nor of other flows.
    for key in ("loss", "competing"):
        if found.words.get(key) in ("0", "none"):
            del found.words[key]
    found.told = [f"The path is what {file} shows: {', '.join(_said(found.words))}.", *(f"{line.rstrip('.')}." for line in lines)]
    return found


def of_iperf3(file: Path) -> Source:
    """Takes rate, round trip and segment size of a test of `iperf3 --json` or `--json-stream`. Raises LongfatError for another file."""
    told, *others = tests(file)
    if others:
        raise LongfatError(f"{file}: holds {1 + len(others)} tests: expected one")
    try:
        end, start = told["end"], told["start"]
        streams = [stream["sender"] for stream in end["streams"]]
        trips = [stream["min_rtt"] for stream in streams if stream.get("min_rtt")]
        mss, count = start["tcp_mss_default"], len(streams)
        rates = [one["sum"]["bits_per_second"] for one in told["intervals"] if not one["sum"].get("omitted")]
        goodput, again = end["sum_received"]["bits_per_second"], end["sum_sent"].get("retransmits", 0)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LongfatError(f"{file}: expected the output of `iperf3 --json` of a TCP test: {type(error).__name__} {error}") from error
    if not trips or not rates:
        raise LongfatError(f"{file}: has no round trips: run iperf3 on the sending host, on Linux, without --reverse")
    # TCP's options are not in iperf3's MSS where it is what the kernel sends.
    mtu = int(mss) + HEADERS
    rate = max(rates) * mtu / mss
    return Source(
        {"rate": f"{round(rate)} bit/s", "rtt": f"{round(min(trips))} us", "mtu": mtu},
        [
            f"The path is what {file} shows: at least {with_unit(rate, 'bit/s')} of IP packets of {mtu} bytes (the fastest interval), "
            f"{with_unit(min(trips) / 1e6, 's')}; say the path's own rate with --rate.",
            f"There, {count} stream{'s' if count > 1 else ''} of {end.get('sender_tcp_congestion', 'an unknown control')} got "
            f"{with_unit(goodput, 'bit/s')}, with {again} retransmissions.",
        ],
    )


def _said(words: Mapping[str, Any]) -> list[str]:
    made: list[str] = []
    for key in ("rate", "rtt", "policer"):
        if key in words:
            value, unit = quantity(words[key]) or (0.0, "")
            made.append(f"{key} {with_unit(value, 'bit/s' if unit == 'bps' else 's')}")
    return made
