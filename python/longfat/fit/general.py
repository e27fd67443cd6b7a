"""A general model of a path, for numbers that come without a file: what limits a transfer, and how much of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.fit.data import Measurement

FLOW = "measured"
HEADERS = 52
"""IPv4 and TCP with timestamps, bytes."""
MTU = 1500


def placed(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Measurements as settings of the general model, whose first flow is the transfer. Others' transfers stop before the end."""
    made: list[Measurement] = []
    for one in measurements:
        setting = {path.replace("flow.", "flow[0].", 1): value for path, value in one.setting.items()}
        found = quantity(json.loads(setting["measure.duration"]))
        assert found
        setting["flow[1].stop"] = f'"{max(0.5, found[0] - 0.5):g} s"'
        made.append(replace(one, setting=setting))
    return made


def general(measurements: Sequence[Measurement]) -> str:
    """A file with unknowns for measurements of single transfers. Its ranges follow from the numbers; LongfatError where there are none."""
    rates = [one.values[f"{FLOW}.goodput_bps"] for one in measurements if f"{FLOW}.goodput_bps" in one.values]
    if not rates:
        raise LongfatError("the data have no goodput: a general model needs it; write a file with unknowns for other numbers")
    fastest = max(rates) * MTU / (MTU - HEADERS)
    least = [one.values[f"{FLOW}.rtt_min_s"] for one in measurements if f"{FLOW}.rtt_min_s" in one.values]
    mean = [one.values[f"{FLOW}.rtt_mean_s"] for one in measurements if f"{FLOW}.rtt_mean_s" in one.values]
    trip = (0.5 * min(least), 1.2 * min(least)) if least else (0.05 * min(mean), 1.2 * min(mean)) if mean else (1e-3, 0.5)
    rate = (0.97 * fastest, 4 * fastest)
    own = 'window = { name = "window", unknown = ["64 KiB", "32 MiB"], scale = "log" }'
    windows = [one for one in measurements if any(path.endswith(".window") for path in one.setting)]
    if windows and len(windows) < len(measurements):
        raise LongfatError("some measurements say which window was set (iperf3 -w), and others do not: fit them apart, or by a file")
    # The buffer is what a queue of a packet up to a second of the fastest goodput holds.
    most = max(64 * MTU, math.ceil(fastest / 8))
    buffer = f'{{ name = "buffer", unknown = ["{4 * MTU} bytes", "{most} bytes"], scale = "log" }}'
    limit = ", ".join(
        [
            f'{{ label = "droptail", kind = "droptail", limit = {buffer} }}',
            f'{{ label = "policer", kind = "policer", rate = {{ name = "policer rate", unknown = ["{_bits(0.97 * fastest)}", '
            f'"{_bits(1.5 * fastest)}"] }}, burst = {{ name = "burst", unknown = ["{8 * MTU} bytes", "{most} bytes"] }}, '
            f'limit = "{most} bytes" }}',
        ]
    )
    return f"""title = {json.dumps("A path fitted to measured transfers")}

[path]
preset = "dumbbell"
rtt = {{ name = "base RTT", unknown = ["{_us(trip[0])}", "{_us(trip[1])}"], scale = "log" }}
edge = {{ rate = "{_bits(10 * rate[1])}", delay = "1 us" }}

[path.bottleneck]
rate = {{ name = "rate", unknown = ["{_bits(rate[0])}", "{_bits(rate[1])}"], scale = "log" }}
queue = {{ name = "limit", unknown = [{limit}] }}
loss = {{ kind = "bernoulli", probability = {{ name = "loss", unknown = [1e-6, 0.03], scale = "log" }} }}
reverse = {{ queue = {{ kind = "droptail", limit = "1 GiB" }}, loss = "none" }}

[[flow]]
name = "{FLOW}"
stack = "linux"
traffic = "bulk"
{"" if windows else own}

[[flow]]
name = "others"
from = "left"
to = "right"
stop = "9.5 s"
stack = "linux"
traffic = {{ name = "cross traffic", unknown = [{{ label = "alone", kind = "ping", interval = "10 s" }}, \
{{ label = "shared", kind = "flows", sizes = "web-search", load = {{ name = "load", unknown = [0.02, 0.6], scale = "linear" }} }}] }}

[measure]
duration = "10 s"
"""


def _bits(rate: float) -> str:
    return f"{max(1, round(rate))} bit/s"


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.3f} us"
