"""A tool of perfSONAR's pScheduler: the test `throughput` by `longfat measure` and `longfat serve`.

Each program beside this file reads one JSON object and prints one, as pScheduler asks of its tools. It needs no library but
Python's own, and the program `longfat` at both ends. The keys of test, run and result are those of pScheduler's test `throughput`
(its `validate.py` and `result-jsonschema.json`); all rates are payload, in bit/s.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGFAT = os.environ.get("LONGFAT", "longfat")
PORT = 5277
"""Port of the server, TCP and UDP: open it between the hosts."""
SECONDS = 10
"""Duration of a test that names none."""
LONGEST = 3600
START = 3.0
"""What the near host waits for the server at the far one, in seconds."""
AROUND = 15
"""Seconds beside the test itself: start of both programs, probes before and after the flow, results."""
KEY = "pscheduler"
"""Name of the key, which is made anew for each run."""
OPTIONS = ("schema", "source", "source-node", "dest", "dest-node", "duration", "interval", "link-rtt", "congestion", "reverse")
"""Options of a test that this tool takes."""


class Failed(Exception):
    """Something that the user is told."""


def seconds_of(duration: str) -> int:
    """Whole seconds of a duration of ISO 8601 in days, hours, minutes and seconds. Raises Failed."""
    found = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.\d+)?S)?)?", duration)
    if not found or not any(found.groups()):
        raise Failed(f"{duration}: expected a duration such as PT10S")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + seconds


def length(spec: dict[str, Any]) -> int:
    """Seconds of the flow."""
    return seconds_of(spec["duration"]) if spec.get("duration") else SECONDS


def enumerate_tool(_: Any) -> dict[str, Any]:
    """What the tool is."""
    return {
        "schema": 1,
        "name": "longfat",
        "description": "One TCP flow, with what limited it, by longfat",
        "version": "0.1.0",
        "tests": ["throughput"],
        # A test that names no tool goes to iperf3.
        "preference": 0,
        "maintainer": {"name": "longfat", "email": "", "href": "https://pypi.org/project/longfat/"},
    }


def can_run(asked: dict[str, Any]) -> dict[str, Any]:
    """Whether the tool can run the test, and why not."""
    if asked.get("type") != "throughput":
        return {"can-run": False, "reasons": [f"longfat runs the test throughput, not {asked.get('type')}"]}
    spec = asked.get("spec") or {}
    reasons = [f"longfat has no option {name}" for name in spec if name not in OPTIONS]
    try:
        if not 2 <= length(spec) <= LONGEST:
            reasons.append(f"a flow lasts 2 to {LONGEST} s")
        if spec.get("interval") and spec["interval"] != "PT1S":
            reasons.append("longfat reports intervals of 1 s")
    except Failed as error:
        reasons.append(str(error))
    return {"can-run": not reasons, **({"reasons": reasons} if reasons else {})}


def duration(spec: dict[str, Any]) -> dict[str, Any]:
    """The time for which the tool has the hosts."""
    trip = seconds_of(spec["link-rtt"]) if spec.get("link-rtt") else 0
    return {"duration": f"PT{length(spec) + AROUND + 20 * trip}S"}


def participant_data(asked: dict[str, Any]) -> dict[str, Any]:
    """What the other participant must know: the far host makes a key for this one run. pScheduler shows nobody what begins with `_`."""
    if asked.get("participant") == 0:
        return {"schema": 1}
    if asked.get("participant") != 1:
        raise Failed("this test has participants 0 and 1")
    with tempfile.TemporaryDirectory() as home:
        made = subprocess.run([LONGFAT, "key", "new", KEY], env=_env(home), capture_output=True, text=True, check=False)
    if made.returncode:
        raise Failed(made.stderr.strip())
    return {"schema": 1, "port": PORT, "_key": made.stdout.strip().splitlines()[-1]}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One participant's part of a run: the far host serves, the near one measures."""
    try:
        spec, far = asked["test"]["spec"], asked["participant-data"][1]
        left = seconds_of(asked["schedule"]["duration"])
        part = {0: measure, 1: serve}[asked["participant"]]
    except (KeyError, IndexError) as error:
        raise Failed(f"the run lacks {error}") from None
    with tempfile.TemporaryDirectory() as home:
        added = subprocess.run(
            [LONGFAT, "key", "add", KEY], input=far["_key"] + "\n", env=_env(home), capture_output=True, text=True, check=False
        )
        if added.returncode:
            return {"succeeded": False, "error": added.stderr.strip(), "diags": "", "intervals": [], "summary": {}}
        return part(spec, far, left, _env(home))


def serve(_: dict[str, Any], far: dict[str, Any], left: int, env: dict[str, str]) -> dict[str, Any]:
    """Serves until the time of the run is over, or the one session is."""
    command = [LONGFAT, "serve", "--key", KEY, "--port", str(far["port"])]
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + max(1, left - 2)
    while server.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    ended = server.poll()
    if ended is None:
        server.send_signal(signal.SIGINT)
    try:
        told = server.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        server.kill()
        told = server.communicate()[0]
    served = {"succeeded": ended is None, "diags": told, "intervals": [], "summary": {}}
    return served if served["succeeded"] else {**served, "error": "the server ended early: " + told.strip()}


def measure(spec: dict[str, Any], far: dict[str, Any], left: int, env: dict[str, str]) -> dict[str, Any]:
    """Measures one direction to the far host."""
    time.sleep(START)
    address = str(spec["dest"])
    at = f"[{address}]" if ":" in address else address
    command = [LONGFAT, "measure", f"{at}:{far['port']}", "--key", KEY, "--seconds", str(length(spec)), "--json-stream"]
    command += ["--direction", "down" if spec.get("reverse") else "up"]
    command += ["--control", spec["congestion"]] if spec.get("congestion") else []
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=max(1, left - START))
    except subprocess.TimeoutExpired:
        return {"succeeded": False, "error": "the measurement did not end in its time", "diags": "", "intervals": [], "summary": {}}
    try:
        return result_of(done.stdout)
    except (ValueError, KeyError) as error:
        told = done.stderr.strip() or f"no result: {error}"
        return {"succeeded": False, "error": told, "diags": done.stdout, "intervals": [], "summary": {}}


def result_of(stream: str) -> dict[str, Any]:
    """The result of a test `throughput` from the events of `longfat measure --json-stream`. Raises ValueError and KeyError."""
    events = [json.loads(line) for line in stream.splitlines() if line.strip()]
    data = {event["event"]: event["data"] for event in events}
    if "error" in data:
        raise ValueError(data["error"])
    intervals = [_interval(event["data"]) for event in events if event["event"] == "interval"]
    end = data["end"]
    sums = {**_data(end["sum_received"]), "retransmits": end["sum_sent"].get("retransmits")}
    sums["receiver-throughput-bits"] = sums["throughput-bits"]
    summary = {"streams": [{**sums, "stream-id": 1}], "summary": sums}
    mss = data["start"].get("tcp_mss_default")
    return {
        "succeeded": True,
        "diags": stream,
        "intervals": intervals,
        "summary": summary,
        **({"mss": mss} if mss else {}),
    }


def _interval(data: dict[str, Any]) -> dict[str, Any]:
    stream = data["streams"][0]
    return {"streams": [{**_data(stream), "stream-id": 1}], "summary": {**_data(data["sum"]), "retransmits": stream.get("retransmits")}}


def _data(of: dict[str, Any]) -> dict[str, Any]:
    rate = of["bits_per_second"]
    found = {
        "start": of["start"],
        "end": of["end"],
        "throughput-bits": rate,
        "throughput-bytes": rate / 8,
        "retransmits": of.get("retransmits"),
        "rtt": of.get("rtt"),
        "tcp-window-size": of.get("snd_cwnd"),
    }
    return {name: value for name, value in found.items() if value is not None}


def merged_results(asked: dict[str, Any]) -> dict[str, Any]:
    """The result of both participants: that of the near host, with what both printed."""
    parts = (asked.get("results") or [None])[:2]
    near = parts[0] or {"succeeded": False, "error": "the near host has no result", "diags": "", "intervals": [], "summary": {}}
    diags = [f"Participant {number}:\n{part['diags']}" for number, part in enumerate(parts) if part and part.get("diags")]
    if not near["succeeded"] and len(parts) > 1 and parts[1] and parts[1].get("error"):
        near = {**near, "error": f"{near.get('error', '')}; {parts[1]['error']}".lstrip("; ")}
    return {**near, "diags": "\n".join(diags)}


def _env(home: str) -> dict[str, str]:
    return {**os.environ, "XDG_CONFIG_HOME": home}


def answer(program: Callable[[Any], dict[str, Any]]) -> None:
    """Reads one JSON object, and prints what `program` makes of it. Ends with a sentence and status 1 where it cannot."""
    try:
        text = "" if program is enumerate_tool else sys.stdin.read()
        print(json.dumps(program(json.loads(text) if text else {})))
    except (Failed, ValueError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
