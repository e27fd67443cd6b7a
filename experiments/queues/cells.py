"""What the runs of the family say: a number for each question."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from typing import Any

import longfat.paper
import pandas as pd
from longfat.paper import MissingResults
from longfat.results.result import Result

QUEUES = ("droptail", "red", "codel")
STEPS = ((0, 100e6), (50, 10e6), (100, 1e6), (150, 50e6), (200, 1e6), (250, 100e6))
"""When the rate of `codel-steps.toml` changes, in seconds, and to what, in bit/s."""
PAIRS = (("cubic", "cubic"), ("cubic", "prague"), ("prague", "cubic"), ("prague", "prague"))
RTTS = ("10, 10 ms", "20, 10 ms", "20, 20 ms", "80, 20 ms", "80, 80 ms", "160, 10 ms")
L4S_QUEUES = ("droptail", "fq_codel", "dualpi2")
SHARES = ("10 %", "50 %", "80 %", "95 %", "105 %", "200 %")
POLICED = 10e6 * 1448 / 1500
"""What 10 Mb/s of IP packets leave for payload, in bit/s."""
UP, DOWN = 20.0, 40.0
"""When the rate of `rate-step.toml` doubles, and when it falls back, in seconds."""


class Cells(longfat.paper.Cells):
    """The numbers of one set of results."""

    def run(self, stem: str, **labels: str) -> Result:
        """The one run of an experiment with these labels; MissingResults where there is none."""
        for run in self.measured[stem]:
            if all(run.labels.get(axis) == label for axis, label in labels.items()):
                return run
        raise MissingResults(f"no run of {stem} with {', '.join(f'{k} {v}' for k, v in labels.items())}")

    def value(self, stem: str, column: str, **where: Any) -> float:
        """A metric of the runs with these labels: the mean over repeats."""
        return float(self.rows(stem, **where)[column].mean())

    def bottleneck(self, run: Result) -> pd.DataFrame:
        """The series of the bottleneck."""
        links = run.links
        series = run.link_series
        return series[series["link"] == int(links.loc[links["name"] == "bottleneck>", "link"].iloc[0])]

    # Nichols and Jacobson 2012.

    def wait_over_time(self, queue: str) -> pd.DataFrame:
        """Of `codel-steps`, how long what is held takes at the rate of the instant: `time_s`, `wait_s`."""
        series = self.bottleneck(self.run("codel-steps", queue=queue))
        rate = series["time_s"].map(lambda time: next(rate for at, rate in reversed(STEPS) if time >= at))
        return pd.DataFrame({"time_s": series["time_s"], "wait_s": 8 * series["backlog_bytes"] / rate})

    def delay(self, queue: str, percent: int) -> float:
        """How long packets waited: the median (50), or that of 95 in 100, in seconds."""
        return self.value("codel-steps", f"bottleneck_queue_delay_p{percent}_s", queue=queue)

    def delay_over_time(self, queue: str, percent: float) -> float:
        """The wait that is not exceeded for so much of the time, in seconds."""
        return float(self.wait_over_time(queue)["wait_s"].quantile(percent / 100))

    def spike(self, queue: str, at: float) -> float:
        """The longest wait in the 5 s after a step, in seconds."""
        waits = self.wait_over_time(queue)
        return float(waits.loc[waits["time_s"].between(at, at + 5), "wait_s"].max())

    def transferred(self, queue: str) -> float:
        """Payload delivered, of all flows, in bytes."""
        return float(self.rows("codel-steps", "flows", queue=queue)["bytes_delivered"].sum())

    def small_buffer(self, queue: str) -> float:
        """What a buffer of 10 packets leaves of what is transferred with 830."""
        return self.transferred(f"{queue}, 10 packets") / self.transferred(queue)

    # RFC 8290.

    def sparse_wait(self, queue: str, share: str) -> float:
        """How much longer than on the empty path the round trip of the sparse flow takes, in seconds."""
        # 25 ms each way; 1000 bytes take 0.8 ms on the bottleneck and 8 us on each edge, both ways.
        return self.value("sparse", "ping_rtt_mean_s", queue=queue, share=share) - (0.050 + 2 * (0.8e-3 + 2 * 8e-6))

    # PIE.

    def _pie(self, column: str, queue: str, flows: int | str) -> float:
        if flows == "udp":
            return self.value("pie-udp", column, queue=queue)
        return self.value("pie", column, queue=queue, flows=str(flows))

    def pie_delay(self, queue: str, flows: int | str) -> float:
        """The mean wait with 5 or 50 flows, or with 5 beside UDP (`"udp"`), in seconds."""
        return self._pie("bottleneck_queue_delay_mean_s", queue, flows)

    def pie_utilization(self, queue: str, flows: int | str) -> float:
        """The share of time in which the link is busy."""
        return self._pie("bottleneck_utilization", queue, flows)

    # Policers.

    def policed_share(self, by: str, control: str) -> float:
        """Goodput over what the rate leaves for payload."""
        return self.value("policer", "goodput_total_bps", by=by, control=control) / POLICED

    def policed_loss(self, by: str, control: str) -> float:
        """The share of packets that are dropped."""
        links = self.rows("policer", "links", by=by, control=control)
        return float(links.loc[links["name"] == "bottleneck>", "loss_share"].mean())

    def policed_rtt(self, by: str, control: str) -> float:
        """The round trip that 95 of 100 samples do not exceed, in seconds."""
        return self.value("policer", "flow_rtt_p95_s", by=by, control=control)

    # Links that change.

    def carried(self, queue: str, control: str) -> pd.DataFrame:
        """Of `rate-step`: `time_s`, `rate_bps` on the bottleneck over the half second before, `wait_s`."""
        series = self.bottleneck(self.run("rate-step", queue=queue, control=control)).set_index("time_s")
        rate = pd.Series(20e6, index=series.index).where((series.index >= UP) & (series.index < DOWN), 10e6)
        carried = 8 * series["wire_bytes"].diff(5) / 0.5
        return pd.DataFrame({"rate_bps": carried, "wait_s": 8 * series["backlog_bytes"] / rate}).reset_index()

    def rise(self, queue: str, control: str) -> float:
        """From the doubling until half a second has carried 95 % of the new rate, in seconds; NaN if none did."""
        series = self.carried(queue, control)
        there = series[series["time_s"].between(UP, DOWN) & (series["rate_bps"] >= 0.95 * 20e6)]
        return math.nan if there.empty else float(there["time_s"].iloc[0]) - UP

    def settle(self, queue: str, control: str) -> float:
        """From the fall until the wait is under 10 ms, in seconds; NaN if it never is."""
        series = self.carried(queue, control)
        there = series[(series["time_s"] > DOWN) & (series["wait_s"] < 0.010)]
        return math.nan if there.empty else float(there["time_s"].iloc[0]) - DOWN

    def step_delay(self, queue: str, control: str) -> float:
        """The median wait of packets, in seconds."""
        return self.value("rate-step", "bottleneck_queue_delay_p50_s", queue=queue, control=control)

    def leo_rate(self, queue: str, control: str, loss: float) -> float:
        """Goodput, in bit/s."""
        return self.value("leo", "goodput_total_bps", queue=queue, control=control, loss_number=loss)

    def leo_delay(self, queue: str, control: str, loss: float) -> float:
        """The median wait of packets, in seconds."""
        return self.value("leo", "bottleneck_queue_delay_p50_s", queue=queue, control=control, loss_number=loss)

    # L4S.

    def rate_ratio(self, rate: str, queue: str, rtts: str, first: str, second: str) -> float:
        """Goodput of the first flow, which has the first round trip, over the second's."""
        flows = self.rows(f"l4s-{rate}", "flows", queue=queue, rtts=rtts, first=first, second=second)
        one, two = (float(flows.loc[flows["group"] == group, "goodput_bps"].iloc[0]) for group in ("first", "second"))
        return one / two if two else math.inf

    def most_unfair(self, queue: str) -> float:
        """The larger rate over the smaller one, where that is most."""
        ratios = [self.rate_ratio(rate, queue, rtts, *pair) for rate in ("10m", "50m") for rtts in RTTS for pair in PAIRS]
        return max(max(ratio, 1 / ratio) for ratio in ratios)
