"""The cells of the paper, from our results: what `paper.py` compares, and what `claims.csv` speaks of.

A path is its round trip in ms, a window in KiB, a throughput in the paper's Mb/s of 2^20 bit/s (README, "The unit").
A curve is throughput over window limit. Where an experiment has repeats, a statistic is of each; the median counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import Any

import longfat.paper
import pandas as pd
from longfat import Results
from longfat.paper import MissingResults, rank_correlation

MBIT = 2.0**20
STEMS = {68: "long", 20: "short"}
PATHS = (68, 20)
BUILDS = ("60", "r60", "224", "r200")
FLOWS = (1, 4, 8)
BACKGROUNDS = ("no-b", "revb")
DS3_BPS = 44.736e6 * 84 / 85
# Payload of a full DS3: 4096 bytes in a packet of 4148, 7 bytes of framing (`units.py`).
CEILING = DS3_BPS * 4096 / (4096 + 52 + 7) / MBIT
# Payload that fits into a build's buffers, KiB: 3 buffers a packet of 4 KiB (section 5).
QUEUE = {"60": 60 // 3 * 4, "r60": 60 // 3 * 4, "224": 224 // 3 * 4, "r200": 200 // 3 * 4}
# Percent. What the paper calls a collapse lost 54 to 70 %, what it calls a drop at most 32 %.
COLLAPSE = 40.0
# What the paper says stays high or falls slightly lost 10 % or less.
SLIGHT = 10.0

Curves = pd.DataFrame
"""Rows: windows in KiB. Columns: repeats."""


def bdp(path: float) -> float:
    """Delay-bandwidth product in KiB."""
    return DS3_BPS * path / 1000 / 8 / 1024


def window_limit(path: float, window: float) -> float:
    """A window a round trip."""
    return window * 1024 * 8 / (path / 1000) / MBIT


def label(value: Any) -> str:
    """A label of an axis as the file has it: one that is a number comes as a float."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class Cells(longfat.paper.Cells):
    """A path, a build, a number of flows and a background; some at one window."""

    def names(self) -> dict[str, Any]:
        """With the windows that were run."""
        return {**super().names(), "WINDOWS": self.windows()}

    def prepare(self, results: Results, table: str) -> pd.DataFrame:
        """Runs, with the axes as this module names them, throughput, and forward flows' timeouts."""
        assert table == "runs", table
        runs = results.runs.copy()
        for axis in ("build", "background", "mss", "rtt"):
            if axis in runs:
                runs[axis] = runs[axis].map(label)
        if "flows" in runs:
            runs["flows"] = runs["flows"].astype(int)
        if "window_bytes" in runs:
            runs["window"] = (runs["window_bytes"] / 1024).astype(int)
        runs["throughput"] = runs["ttcp_utilization_bps"].fillna(runs["goodput_total_bps"]) / MBIT
        runs["unfairness"] *= 100
        flows = results.flows
        forward = flows[flows["group"] != "reverse"].groupby("run")
        links = results.links[results.links["bottleneck"].astype(bool)].groupby("run")
        active_s = runs["run"].map(forward["completion_s"].max())
        runs["link_goodput"] = runs["run"].map(links["busy_s"].sum()) / active_s * CEILING
        runs["queue_max_bytes"] = runs["run"].map(links["queue_max_bytes"].max())
        for counter in ("timeouts", "fast_retransmits"):
            runs[counter] = runs["run"].map(forward[counter].sum())
        # Every packet's wait before the bottleneck, ms.
        runs["wait"] = runs["bottleneck_queue_delay_mean_s"] * 1000
        runs["rtt_min_s"] = runs["run"].map(forward["rtt_min_s"].min())
        return runs

    def curves(self, path: int, build: str, flows: int, background: str, column: str = "throughput") -> Curves:
        """`column` over the window, one column a repeat."""
        rows = self.rows(STEMS[path], build=build, flows=flows, background=background)
        return rows.pivot(index="window", columns="repeat", values=column).sort_index()

    def windows(self) -> dict[int, list[int]]:
        """The window limits that were run, by number of flows."""
        if "long" not in self.measured:
            return {n: [] for n in FLOWS}
        return {n: sorted(self.rows("long", flows=n)["window"].unique().tolist()) for n in FLOWS}

    def _statistic(self, of: Callable[[pd.Series], float], *cell: Any) -> float:
        curves = self.curves(*cell)
        return median(of(curves[repeat].dropna()) for repeat in curves)

    def at(self, column: str, path: int, build: str, flows: int, background: str, window: int) -> float:
        """`column` at one window."""
        curves = self.curves(path, build, flows, background, column)
        if window not in curves.index:
            raise MissingResults(f"no run at {window} KiB")
        return median(curves.loc[window].dropna())

    def throughput(self, path: int, build: str, flows: int, background: str, window: int) -> float:
        """Flows times the slowest rate."""
        return self.at("throughput", path, build, flows, background, window)

    def link_goodput(self, path: int, build: str, flows: int, background: str, window: int) -> float:
        """The payload the bottleneck could have carried in the time it was busy."""
        return self.at("link_goodput", path, build, flows, background, window)

    def timeouts(self, path: int, build: str, flows: int, background: str, window: int) -> float:
        """Retransmission timeouts of all forward flows."""
        return self.at("timeouts", path, build, flows, background, window)

    def unfairness_at(self, path: int, build: str, flows: int, background: str, window: int) -> float:
        """Percent."""
        return self.at("unfairness", path, build, flows, background, window)

    def peak(self, path: int, build: str, flows: int, background: str) -> float:
        """The highest throughput of the curve."""
        return self._statistic(lambda curve: curve.max(), path, build, flows, background)

    def peak_window(self, path: int, build: str, flows: int, background: str) -> float:
        """The window of the peak: the least within 1 % of it, since a plateau has no peak to speak of."""
        return self._statistic(lambda curve: curve.index[curve >= 0.99 * curve.max()][0], path, build, flows, background)

    def floor(self, path: int, build: str, flows: int, background: str) -> float:
        """The lowest throughput at the peak's window or beyond."""
        return self._statistic(lambda curve: curve.loc[curve.idxmax() :].min(), path, build, flows, background)

    def last(self, path: int, build: str, flows: int, background: str) -> float:
        """Throughput at the largest window."""
        return self._statistic(lambda curve: curve.iloc[-1], path, build, flows, background)

    def degradation(self, path: int, build: str, flows: int, background: str) -> float:
        """Percent lost from the peak to the lowest point beyond it (notes under Tables 3 and 4)."""
        return self._statistic(lambda curve: 100 * (1 - curve.loc[curve.idxmax() :].min() / curve.max()), path, build, flows, background)

    def collapse_window(self, path: int, build: str, flows: int, background: str) -> float:
        """The least window beyond the peak at which a collapse's worth is lost; infinite without one."""

        def first(curve: pd.Series) -> float:
            beyond = curve.loc[curve.idxmax() :]
            lost = beyond[beyond <= (1 - COLLAPSE / 100) * curve.max()]
            return lost.index[0] if len(lost) else math.inf

        return self._statistic(first, path, build, flows, background)

    def steepest_fall(self, path: int, build: str, flows: int, background: str) -> float:
        """The most lost from one window to the next, as a part of the peak."""
        return self._statistic(lambda curve: -curve.diff().min() / curve.max(), path, build, flows, background)

    def linearity(self, path: int, build: str, flows: int, background: str, low: int, high: int) -> float:
        """How far throughput over window departs from its value at `low`, up to `high`, as a part."""

        def departure(curve: pd.Series) -> float:
            slope = (curve / curve.index).loc[low:high]
            return (slope / slope.iloc[0] - 1).abs().max()

        return self._statistic(departure, path, build, flows, background)

    def above(self, path: int, build: str, other: str, flows: int, background: str) -> float:
        """How far `build` is above `other`, the mean over windows beyond the peak of `other`."""
        mine, theirs = (self.curves(path, b, flows, background).median(axis=1) for b in (build, other))
        beyond = mine.index > self.peak_window(path, other, flows, background)
        return float((mine - theirs)[beyond].mean())

    def unfairness(self, path: int, build: str, flows: int, background: str) -> float:
        """The worst over all windows, percent."""
        return median(self.curves(path, build, flows, background, "unfairness").max())

    def erratic(self, path: int, build: str, flows: int, background: str) -> float:
        """How far throughput goes up and down at windows larger than the queue, of the peak: all its ways less the way as a whole."""

        def detours(curve: pd.Series) -> float:
            steps = curve.loc[QUEUE[build] :].diff().dropna()
            return (steps.abs().sum() - abs(steps.sum())) / curve.max()

        return self._statistic(detours, path, build, flows, background)

    def unfairness_trend(self, path: int, build: str) -> float:
        """How steadily unfairness grows with the sum of the window limits (Figure 9), over all runs of several flows: rank correlation."""
        rows = self.rows(STEMS[path], build=build)
        rows = rows[rows["flows"] > 1]
        return rank_correlation(rows["window"] * rows["flows"], rows["unfairness"])

    def unfairness_median(self) -> float:
        """Over all cells of several flows."""
        return median(self.unfairness(p, b, n, g) for p in PATHS for b in BUILDS for n in (4, 8) for g in BACKGROUNDS)

    def reverse_loss(self, path: int, build: str, flows: int) -> float:
        """The part of the peak that a reverse flow takes."""
        return 1 - self.peak(path, build, flows, "revb") / self.peak(path, build, flows, "no-b")

    def spread(self, path: int, build: str, background: str) -> float:
        """How far apart the peaks of 1, 4 and 8 flows are, as a part of the highest."""
        peaks = [self.peak(path, build, n, background) for n in FLOWS]
        return (max(peaks) - min(peaks)) / max(peaks)

    def with_control(self, column: str, path: int, build: str, flows: int, background: str, window: int) -> float:
        """`column` of a build, or of its control ("200 without RED"), in `red-controls-*`."""
        rows = self.rows(f"red-controls-{STEMS[path]}", build=build, flows=flows, background=background, window=window)
        return float(rows[column].median())

    def wait_ratio(self, path: int, build: str, flows: int, background: str, window: int) -> float:
        """The mean wait in the queue of a RED build over that in the same buffers without RED."""
        mine, control = (
            self.with_control("wait", path, name, flows, background, window) for name in (build, f"{build.removeprefix('r')} without RED")
        )
        return mine / control

    def recommended(self, rtt: int, build: str, flows: int, window: int) -> float:
        """Throughput on a path of section 6."""
        return self.rows("recommendations", rtt=f"{rtt} ms", build=build, flows=flows, window=window)["throughput"].median()

    def rtt_bias(self, queue: str) -> float:
        """Goodput of the flows of the shorter round trip over that of the longer."""
        runs = self.rows("unequal-rtt", build=queue)
        flows = self.measured["unequal-rtt"].flows
        goodput = flows[flows["run"].isin(runs["run"])].groupby("group")["goodput_bps"].sum()
        return float(goodput["short"] / goodput["long"])

    def _small(self, build: str, mss: int) -> pd.Series:
        rows = self.rows("small-packets", build=build, mss=f"{mss} bytes")
        return rows.groupby("window")["throughput"].median()

    def small_packet_peak(self, build: str) -> float:
        """The peak with segments of 512 bytes."""
        return float(self._small(build, 512).max())

    def small_packet_last(self, build: str) -> float:
        """Throughput with segments of 512 bytes at the largest window."""
        return float(self._small(build, 512).iloc[-1])

    def small_packet_loss(self, build: str) -> float:
        """What 512-byte segments lose at the largest window of what 4096-byte ones reach, headers not counted."""
        efficiency = (512 / 571) / (4096 / 4155)
        return float(1 - self._small(build, 512).iloc[-1] / self._small(build, 4096).iloc[-1] / efficiency)

    def _ledge(self, side: str) -> pd.DataFrame:
        """Build 60 on the short path: runs with 4 packets or more a flow (and fewer than 16), and runs with less."""
        rows = self.rows("ledge", build="60")
        share = (bdp(20) / 4 + QUEUE["60"] / 4) / rows["flows"]
        return rows[share < 4] if side == "below" else rows[(share >= 4) & (share < 16)]

    def ledge_timeout_share(self, side: str) -> float:
        """Losses repaired by timeout, of all repaired."""
        rows = self._ledge(side)
        return float(rows["timeouts"].sum() / (rows["timeouts"] + rows["fast_retransmits"]).sum())

    def ledge_throughput(self, side: str) -> float:
        """Mean over the runs of that side."""
        return float(self._ledge(side)["throughput"].mean())
