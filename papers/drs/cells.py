"""What the paper counts, from our results: what `paper.py` compares and draws, and what `claims.csv` speaks of.

A figure is named as in the paper (`figure7`); those that the paper says look alike at 1 Gb/s are `figure3-1g` and `figure5-1g`.
Windows and queues are in packets, and a packet is 1500 bytes on every link. A flow's packets are its ACKs that came back to the
sender (section IV), duplicates among them; where several flows are of one kind it is their mean. Where an experiment has repeats, a
statistic is of each; their mean counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, NamedTuple

import longfat.paper
import pandas as pd
from longfat import Result, Results
from longfat.paper import MissingResults

WINDOWS = tuple(range(50, 701, 50))
WINDOWS_1G = tuple(range(500, 7001, 500))
QUEUES = (100, 500, 16384)
# Where traffic and controls are varied.
MIXES = ("1+1", "5+5")
SENSITIVE = (50, 100, 200, 400, 600, 650, 700)
VEGAS = ("vegas 1-3", "vegas 2-4", "vegas 10-20")

PACKET = 1500
ACK = 40
SEGMENT = 1460
# For which the paper counts packets.
SECONDS = 200
STATIC_WINDOW = 44


class Net(NamedTuple):
    """One of the two networks of section III: each of the three links of a path."""

    rate: float
    delay: float

    @property
    def rtt(self) -> float:
        """Of a full packet and its ACK through empty queues, in seconds."""
        return 3 * (2 * self.delay + 8 * (PACKET + ACK) / self.rate)

    @property
    def bdp(self) -> float:
        """Packets, of propagation alone."""
        return self.rate * 6 * self.delay / (8 * PACKET)


SLOW, FAST = Net(100e6, 0.010), Net(1e9, 0.016)

# The experiment of each figure, and the flows in it.
FIGURES = {
    "figure2": ("figure2", None),
    "figure2-1g": ("figure2-1g", None),
    "figure3": ("figures-100m", "1+1"),
    "figure3-1g": ("figures-1g", "1+1"),
    "figure4": ("figure4", None),
    "figure5": ("figures-100m", "10+1"),
    "figure5-1g": ("figures-1g", "10+1"),
    "figure6": ("figures-100m", "5+5"),
    "figure7": ("figures-1g", "5+5"),
    "figure8": ("figures-100m", "0+10"),
}


def net(figure: str) -> Net:
    """The network of a figure."""
    return FAST if figure == "figure7" or figure.endswith("-1g") else SLOW


def of_runs(rows: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> list[float]:
    """A statistic of each run, which are repeats."""
    return [float(statistic(run)) for _, run in rows.groupby("run", sort=False)]


def total_of(rows: pd.DataFrame, column: str = "acks_received") -> float:
    """The sum over a run's flows, mean of the runs."""
    return mean(of_runs(rows, lambda run: run[column].sum()))


def lead_of(flows: pd.DataFrame) -> float:
    """The flow with most over the median of the flows, mean of the runs."""
    return mean(of_runs(flows, lambda run: run["acks_received"].max() / run["acks_received"].median()))


class Cells(longfat.paper.Cells):
    """Flows of a figure, with a queue and a maxwnd."""

    # Tables

    def prepare(self, results: Results, table: str) -> pd.DataFrame:
        """With `maxwnd` as a number; of links only the bottleneck, forward."""
        rows = getattr(results, table).copy()
        if "maxwnd" in rows:
            rows["maxwnd"] = rows["maxwnd"].str.split().str[0].astype(int)
        return rows[rows["name"].eq("bottleneck>")] if table == "links" else rows

    def rows(self, stem: str, table: str = "flows", /, **where: Any) -> pd.DataFrame:
        """Its rows with these values, of the columns it has; a queue given as a number is one of so many packets."""
        if isinstance(where.get("queue"), int):
            where["queue"] = f"{where['queue']} packets"
        columns = self.table(stem, table).columns
        return super().rows(stem, table, **{column: value for column, value in where.items() if column in columns and value is not None})

    def flows(self, figure: str, queue: int, maxwnd: int, kind: str | None = None) -> pd.DataFrame:
        """The flows of the runs of a figure, or those of one kind."""
        stem, mix = FIGURES[figure]
        return self.rows(stem, mix=mix, queue=queue, maxwnd=maxwnd, group=kind)

    # Packets

    def each(self, figure: str, queue: int, maxwnd: int, kind: str) -> list[list[float]]:
        """Packets acknowledged of each flow of a kind, in each run."""
        return [run["acks_received"].tolist() for _, run in self.flows(figure, queue, maxwnd, kind).groupby("run", sort=False)]

    def of_seeds(self, figure: str, queue: int, maxwnd: int, kind: str) -> list[float]:
        """Their mean, of each run."""
        return [mean(run) for run in self.each(figure, queue, maxwnd, kind)]

    def acked(self, figure: str, queue: int, maxwnd: int, kind: str) -> float:
        """Their mean, of all runs."""
        return mean(self.of_seeds(figure, queue, maxwnd, kind))

    def total_acked(self, figure: str, queue: int, maxwnd: int, kind: str) -> float:
        """The same as a total of the paper's 200 s, which the short form does not have."""
        self.check_whole(figure)
        return self.acked(figure, queue, maxwnd, kind)

    def seconds(self, stem: str, network: Net = SLOW) -> float:
        """For which the runs of an experiment count: all but the handshake, which the simulator of the paper did not have."""
        return round(float(self.table(stem, "runs")["end_s"].iloc[0]) - 6 * network.delay, 6)

    def check_whole(self, figure: str) -> None:
        """MissingResults where the runs are not as long as the paper's."""
        seconds = self.seconds(FIGURES[figure][0], net(figure))
        if seconds != SECONDS:
            raise MissingResults(f"not in the short form: counted in {SECONDS} s, and its runs are of {seconds:g} s")

    def capacity(self, figure: str) -> float:
        """Packets that the bottleneck can carry in the time of our runs."""
        return self.capacity_of(FIGURES[figure][0], net(figure))

    def capacity_of(self, stem: str, network: Net = SLOW) -> float:
        """The same of an experiment."""
        return int(network.rate * self.seconds(stem, network) / (8 * PACKET))

    def total(self, figure: str, queue: int, maxwnd: int) -> float:
        """Packets acknowledged of all flows."""
        return total_of(self.flows(figure, queue, maxwnd))

    def utilization(self, figure: str, queue: int, maxwnd: int) -> float:
        """The same as a part of what the bottleneck can carry."""
        return self.total(figure, queue, maxwnd) / self.capacity(figure)

    def mbps(self, figure: str, queue: int, maxwnd: int, kind: str) -> float:
        """Packets acknowledged as a rate in Mb/s of IP packets."""
        return self.acked(figure, queue, maxwnd, kind) * 8 * PACKET / self.seconds(FIGURES[figure][0], net(figure)) / 1e6

    def ratio(self, figure: str, queue: int, maxwnd: int) -> float:
        """Dynamic over static."""
        return self.acked(figure, queue, maxwnd, "dynamic") / self.acked(figure, queue, maxwnd, "static")

    def lead(self, figure: str, queue: int, maxwnd: int) -> float:
        """The dynamic flow with most over the median of the dynamic flows."""
        return lead_of(self.flows(figure, queue, maxwnd, "dynamic"))

    def best(self, figure: str, queue: int) -> int:
        """The window at which the dynamic flow has most; of equal ones the smallest."""
        windows = WINDOWS_1G if net(figure) is FAST else WINDOWS
        return max(windows, key=lambda w: (self.acked(figure, queue, w, "dynamic"), -w))

    def full(self, figure: str, queue: int) -> float:
        """Packets that path and queue hold."""
        return net(figure).bdp + queue

    # What else was measured

    def loss(self, figure: str, queue: int, maxwnd: int) -> float:
        """Share of packets that the bottleneck's queue dropped."""
        stem, mix = FIGURES[figure]
        return float(self.rows(stem, "links", mix=mix, queue=queue, maxwnd=maxwnd)["loss_share"].mean())

    def timeouts(self, figure: str, queue: int, maxwnd: int, kind: str) -> float:
        """Of all flows of a kind, in 200 s."""
        self.check_whole(figure)
        return total_of(self.flows(figure, queue, maxwnd, kind), "timeouts")

    def rtt(self, figure: str, queue: int, maxwnd: int) -> float:
        """Mean of the static flows' round trips, ms."""
        return 1000 * float(self.flows(figure, queue, maxwnd, "static")["rtt_mean_s"].mean())

    def in_flight(self, figure: str, queue: int, maxwnd: int) -> float:
        """The most packets that a dynamic flow had in flight."""
        return float(self.flows(figure, queue, maxwnd, "dynamic")["in_flight_max_bytes"].max()) / SEGMENT

    def memory_fairness(self, figure: str, queue: int, maxwnd: int) -> float:
        """Section II-A's fairness: Jain's index of bandwidth over memory."""
        return self._of_run("memory_fairness", figure, queue, maxwnd)

    def memory_proportion(self, figure: str, queue: int, maxwnd: int) -> float:
        """The dynamic flows' part of the bandwidth over their part of the memory."""
        return float(self.flows(figure, queue, maxwnd, "dynamic")["memory_proportion"].mean())

    def jain(self, figure: str, queue: int, maxwnd: int) -> float:
        """Jain's index of all flows' rates."""
        return self._of_run("jain_index", figure, queue, maxwnd)

    def _of_run(self, column: str, figure: str, queue: int, maxwnd: int) -> float:
        stem, mix = FIGURES[figure]
        return float(self.rows(stem, "runs", mix=mix, queue=queue, maxwnd=maxwnd)[column].mean())

    # Figure 4

    def cwnd(self, kind: str) -> pd.DataFrame:
        """Of one flow over time: `time_s`, `cwnd` in packets."""
        result = self.measured["figure4"][0]
        flow = result.flows.loc[result.flows["group"].eq(kind), "flow"].iloc[0]
        series = result.flow_series[result.flow_series["flow"].eq(flow)]
        return pd.DataFrame({"time_s": series["time_s"], "cwnd": series["cwnd_bytes"] / SEGMENT})

    def cwnd_variation(self, kind: str) -> float:
        """Standard deviation over mean, after 10 s."""
        cwnd = self.cwnd(kind).query("time_s > 10")["cwnd"]
        return float(cwnd.std() / cwnd.mean())

    def _loss_over(self, result: Result, seconds: float) -> pd.Series:
        """Share of packets dropped by the bottleneck's queue in each stretch of so many seconds of a run, by its end."""
        link = result.links.loc[result.links["name"].eq("bottleneck>"), "link"].iloc[0]
        series = result.link_series[result.link_series["link"].eq(link)]
        last = series.groupby((series["time_s"] / seconds + 1e-9).astype(int))[["time_s", "wire_bytes", "drops"]].last().set_index("time_s")
        steps = last.diff().fillna(last)
        return steps["drops"] / (steps["drops"] + steps["wire_bytes"] / PACKET)

    def loss_peak(self, seconds: float = 1) -> float:
        """The most of any second, mean of the runs."""
        return mean(float(self._loss_over(result, seconds).max()) for result in self.measured["figure4"])

    # Section III: other traffic, other queues

    def traffic(self, what: str, mix: str, queue: int, maxwnd: int, kind: str) -> float:
        """Packets of a kind of flows, with a source (`bulk`, `cbr`, `poisson`, `pareto`), with `reverse` traffic, or with RED (`red`)."""
        label = f"{queue} packets, RED" if what == "red" else f"{queue} packets"
        source = "bulk" if what == "red" else what
        return mean(self.rows("traffic", mix=mix, queue=label, source=source, maxwnd=maxwnd, group=kind)["acks_received"])

    def changed(self, what: str, mix: str, maxwnd: int) -> float:
        """By what share it moves the packets of a kind of flows: the most over kinds and queues."""
        kinds = ("dynamic",) if mix == "0+10" else ("dynamic", "static")
        return max(
            abs(self.traffic(what, mix, q, maxwnd, kind) / self.traffic("bulk", mix, q, maxwnd, kind) - 1) for q in QUEUES for kind in kinds
        )

    def advantage_changed(self, what: str, mix: str, maxwnd: int) -> float:
        """By what share it moves dynamic over static: the most over queues."""

        def ratio(what: str, queue: int) -> float:
            return self.traffic(what, mix, queue, maxwnd, "dynamic") / self.traffic(what, mix, queue, maxwnd, "static")

        return max(abs(ratio(what, q) / ratio("bulk", q) - 1) for q in QUEUES)

    # Section IV-B: remedies

    def remedy(self, which: str, queue: int, maxwnd: int, mix: str = "1+1") -> float:
        """Packets of the dynamic flows."""
        if which == "heuristic":
            return mean(self.rows("search", mix=mix, queue=queue, maxwnd=maxwnd, group="dynamic")["acks_received"])
        return mean(self.rows("remedies", mix=mix, queue=queue, maxwnd=maxwnd, remedy=which, group="dynamic")["acks_received"])

    def restart(self, which: str, maxwnd: int) -> float:
        """The same with and without slow-start restart."""
        return self.remedy("restart off" if which == "off" else "none", 100, maxwnd)

    # Section IV-D: ties

    def tie_lead(self, rule: str, maxwnd: int) -> float:
        """As `lead`, of five and five with a queue of 100."""
        rows = self.rows("ties", ties=rule, maxwnd=maxwnd)
        return lead_of(rows[rows["group"].str.startswith("dynamic")])

    # Section IV-E

    def crowd(self, flows: int) -> float:
        """Utilization by so many static flows."""
        return total_of(self.rows("crowd", flows=str(flows))) / self.capacity_of("crowd")

    def mostly(self, mix: str, queue: int, maxwnd: int) -> float:
        """Mean ACKs of a dynamic flow where most are dynamic (`1+9`), or all (`0+10`)."""
        rows = self.rows("mostly-dynamic", mix=mix, queue=queue, maxwnd=maxwnd)
        return float(rows.loc[rows["group"].str.startswith("dynamic"), "acks_received"].mean())

    # Section V: Vegas

    def vegas(self, control: str, mix: str, queue: int, maxwnd: int) -> float:
        """Packets acknowledged of all flows."""
        return total_of(self.rows("vegas", mix=mix, queue=queue, control=control, maxwnd=maxwnd))

    def vegas_loss(self, mix: str, queue: int) -> float:
        """The most packets lost at any window, with the best alpha and beta that the authors of Vegas gave (2 and 4)."""
        return float(self.rows("vegas", "links", mix=mix, queue=queue, control="vegas 2-4")["loss_share"].max())

    def vegas_wins(self) -> float:
        """Of all mixes, queues and windows the share in which the best Vegas carries at least what Reno does."""
        cells = [(m, q, w) for m in MIXES for q in QUEUES for w in SENSITIVE]
        return mean(max(self.vegas(v, *cell) for v in VEGAS) >= self.vegas("reno", *cell) for cell in cells)

    def vegas_spread(self, pacing: str) -> float:
        """How much the total depends on the queue: (most - least) / most over the queues, the mean over mixes and windows.

        Of Reno, of Vegas (`off`), or of Vegas with its packets spaced (`on`); of Vegas the alpha and beta for which it is least.
        """
        controls = ("reno",) if pacing == "reno" else tuple(v + " spaced" * (pacing == "on") for v in VEGAS)

        def spread(control: str) -> float:
            cells = [[self.vegas(control, m, q, w) for q in QUEUES] for m in MIXES for w in SENSITIVE]
            return mean((max(cell) - min(cell)) / max(cell) for cell in cells)

        return min(spread(control) for control in controls)

    # Section V: promises

    def promised(self, sizing: str) -> float:
        """Bytes that the connections of the server of 2 MiB may be sent, mean."""
        return float(self.rows("promises", "runs", sizing=sizing)["memory_promised_mean_bytes"].mean())

    def no_memory(self, sizing: str) -> float:
        """Packets that came to it and found no memory."""
        return float(self.rows("promises", "runs", sizing=sizing)["memory_drops"].mean())

    # Section II: right-sizing itself

    def _sizing(self, kind: str, queue: int, maxwnd: int, mix: str = "1+1") -> pd.DataFrame:
        return self.rows("right-sizing", mix=mix, queue=queue, sizing=f"{kind} {maxwnd}", timestamps="true", group="dynamic")

    def sized(self, kind: str, queue: int, maxwnd: int) -> float:
        """Packets of the dynamic flow, its window sized in this way."""
        return mean(self._sizing(kind, queue, maxwnd)["acks_received"])

    def offered(self, kind: str, queue: int, maxwnd: int) -> float:
        """The window that its receiver offered, bytes: mean over the run."""

        def of_one(run: str, flow: int) -> float:
            series = self.measured["right-sizing"].open(run).flow_series
            return float(series.loc[series["flow"].eq(flow), "rwnd_bytes"].mean())

        pairs = self._sizing(kind, queue, maxwnd)[["run", "flow"]].drop_duplicates().itertuples(index=False)
        return mean(of_one(run, flow) for run, flow in pairs)

    def sized_unscaled(self, kind: str) -> float:
        """Packets of a flow without window scaling."""
        return mean(self.rows("unscaled", sizing=kind)["acks_received"])

    def beside_tuned(self, queue: int, maxwnd: int) -> float:
        """Five dynamic flows beside five static ones of the same window: the smaller kind over the larger."""
        flows = self.rows("tuned", ties="link_order", queue=queue, maxwnd=maxwnd)
        means: Sequence[float] = flows.groupby("group")["acks_received"].mean().tolist()
        return min(means) / max(means)


def used(rate: float, rtt: float, window: float = 65536) -> float:
    """What a path of this rate and round trip holds, as a part of a window (section I-B)."""
    return rate * rtt / 8 / window
