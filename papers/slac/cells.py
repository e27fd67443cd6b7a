"""The cells of the paper, from our results: what `paper.py` compares, and what `claims.csv` speaks of.

Throughput is payload in Mb/s of 10^6 bit/s, of a sender with all its streams, over the whole run as iperf reports it; deviations are over
its intervals of 5 s. Where an experiment has several seeds, a cell is their mean. A window is named by its
size: 1, 2 or 3 on its path (section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any

import longfat.paper
import pandas as pd
from longfat import Results
from longfat.paper import rank_correlation

PATHS = ("Caltech", "UFL", "Manchester")
SIZES = (1, 2, 3)
WINDOWS = {
    "Caltech": ("256 KiB", "512 KiB", "1 MiB"),
    "UFL": ("1 MiB", "4 MiB", "8 MiB"),
    "Manchester": ("4 MiB", "8 MiB", "12 MiB"),
}
STACKS = ("Reno", "P-TCP", "S-TCP", "FAST", "HS-TCP", "BIC", "H-TCP", "HSTCP-LP")
ADVANCED = STACKS[2:]
# Section 4.4 puts these between S-TCP and the rear.
MIDDLE = ("BIC", "FAST", "H-TCP", "P-TCP", "HS-TCP")
REVERSED = ("BIC", "FAST", "HS-TCP", "HSTCP-LP", "H-TCP", "P-TCP", "S-TCP")
# Section 6.2.2.
SC = ("Reno", "HS-TCP", "S-TCP")
# Section 6.2.1, Figure 6: the flows of a test, and its minutes after 16:00.
MINUTES = 78
PAIX = {
    "hs-paix": (("HS-TCP",), 0, 12),
    "hs-paix-loaded": (("HS-TCP",), 12, 40),
    "s-paix": (("S-TCP",), 42, 68),
    "two-s": (("S-TCP", "second S-TCP"), 68, MINUTES),
}
LONG_QUEUE_PATHS = ("UFL", "Manchester")


def stability(rates: pd.Series) -> float:
    """The paper's stability index: standard deviation by mean (section 4.6)."""
    return float(rates.std(ddof=0) / rates.mean())


class Cells(longfat.paper.Cells):
    """Tests of a stack on a path with a window."""

    repeat: int | None = None
    """Of experiments that have this repeat, only its runs count; None: all runs do."""

    def seeds(self, stem: str) -> list[Cells]:
        """One for each seed of an experiment, in which its runs count alone."""
        made: list[Cells] = []
        for repeat in sorted(self.table(stem, "senders")["repeat"].unique()) if self.repeat is None else ():
            one = Cells(self.measured)
            one.repeat, one._tables = int(repeat), self._tables
            made.append(one)
        return made or [self]

    def over_seeds(self, stem: str, value: Callable[[Cells], float]) -> float:
        """Over the seeds of an experiment."""
        return mean(value(one) for one in self.seeds(stem))

    # Tables

    def prepare(self, results: Results, table: str) -> pd.DataFrame:
        """One row a run and sender under test: the axes, `mbps`, `deviation_mbps`, `stability`, and the run's ping in ms."""
        assert table == "senders", table
        flows = results.flows
        tested = flows[flows["traffic"].eq("bulk") & ~flows["group"].eq("reverse")]
        rows = tested.groupby(["run", "sender"], sort=False).first().reset_index()
        rows["mbps"] = rows["sender_goodput_bps"] / 1e6
        rows["deviation_mbps"] = rows["goodput_deviation_bps"] / 1e6
        ping = results.runs.set_index("run")
        for column in ("ping_rtt_mean_s", "ping_rtt_deviation_s"):
            rows[column.replace("_s", "_ms")] = rows["run"].map(ping[column]) * 1000
        return rows

    def rows(self, stem: str, table: str = "senders", /, **where: Any) -> pd.DataFrame:
        """The senders of an experiment in which the axes have these labels."""
        rows = super().rows(stem, table, **where)
        return rows[rows["repeat"] == self.repeat] if self.repeat in rows["repeat"].to_numpy() else rows

    def _test(self, column: str, path: str, size: int, stack: str) -> float:
        return float(self.rows("throughput", path=path, window=WINDOWS[path][size - 1], stack=stack)[column].mean())

    def intervals(self, stem: str, run: str, groups: Sequence[str]) -> pd.DataFrame:
        """Mb/s in each interval of the series, one column a group."""
        result = self.measured[stem].open(run)
        names = result.flows.set_index("flow")["group"]
        series = result.flow_series
        series = series[series["flow"].isin(names[names.isin(groups)].index)]
        delivered = series.assign(group=series["flow"].map(names)).groupby(["time_s", "group"])["bytes_arrived"].sum().unstack()
        seconds = pd.Series(delivered.index).diff().to_numpy()
        return delivered.diff().mul(8e-6).div(seconds, axis=0).iloc[1:]

    # Table 1, sections 4.1, 4.4

    def thr(self, path: str, size: int, stack: str) -> float:
        """Throughput of a cell of Table 1."""
        return self._test("mbps", path, size, stack)

    def thr_sd(self, path: str, size: int, stack: str) -> float:
        """Its standard deviation over the intervals."""
        return self._test("deviation_mbps", path, size, stack)

    def thr_mean(self, path: str, stack: str) -> float:
        """Of windows 2 and 3."""
        return mean(self.thr(path, n, stack) for n in (2, 3))

    def average(self, stack: str, *sizes: int) -> float:
        """Over the three paths, and windows 2 and 3 unless others are given."""
        return mean(self.thr(p, n, stack) for p in PATHS for n in sizes or (2, 3))

    def average_sd(self, stack: str) -> float:
        """Of the six cells of windows 2 and 3."""
        return stdev(self.thr(p, n, stack) for p in PATHS for n in (2, 3))

    def spread(self, path: str) -> float:
        """How much the stacks differ on a path: standard deviation over mean of their throughputs, windows 2 and 3."""
        rates = [self.thr_mean(path, s) for s in STACKS]
        return stdev(rates) / mean(rates)

    def rtt(self, path: str, size: int, stack: str) -> float:
        """Mean of ping, ms."""
        return self._test("ping_rtt_mean_ms", path, size, stack)

    def rtt_sd(self, path: str, size: int, stack: str) -> float:
        """Its standard deviation, ms."""
        return self._test("ping_rtt_deviation_ms", path, size, stack)

    def rtt_min(self, path: str) -> float:
        """The least round trip any test of the path saw, ms."""
        return float(self.rows("throughput", path=path)["rtt_min_s"].min()) * 1000

    def spread_of_rtt(self, path: str) -> float:
        """Between the stacks' mean RTTs over the three windows, ms."""
        means = [mean(self.rtt(path, n, s) for n in SIZES) for s in STACKS]
        return max(means) - min(means)

    def mhz(self, stack: str | None = None) -> float:
        """MHz of the sender's CPU for each Mb/s, over the paths; of all stacks together, or one."""
        where = {} if stack is None else {"stack": stack}
        return float(self.rows("cpu", **where)["mhz_per_mbps"].mean())

    # Sections 4.5, 4.6

    def stability(self, path: str, size: int, stack: str) -> float:
        """Standard deviation over mean."""
        return self._test("stability", path, size, stack)

    def stability_mean(self, stack: str, path: str | None = None) -> float:
        """Windows 2 and 3; over the paths, or on one."""
        return mean(self.stability(p, n, stack) for p in ((path,) if path else PATHS) for n in (2, 3))

    def stability_of_size(self, size: int) -> float:
        """Over all stacks and paths."""
        return mean(self.stability(p, size, s) for p in PATHS for s in STACKS)

    def stability_udp(self, path: str, size: int, stack: str, period: int | None = None) -> float:
        """Beside the sinusoid; of one period in s, or the mean of both."""
        rows = self.rows("sinusoid", path=path, window=WINDOWS[path][size - 1], stack=stack)
        if period is not None:
            rows = rows[rows["period_s"] == period]
        return float(rows["stability"].mean())

    def stability_udp_mean(self, stack: str, period: int | None = None) -> float:
        """Windows 2 and 3, over the paths."""
        return mean(self.stability_udp(p, n, stack, period) for p in PATHS for n in (2, 3))

    def stability_udp_of_size(self, size: int) -> float:
        """Over all stacks and paths."""
        return mean(self.stability_udp(p, size, s) for p in PATHS for s in STACKS)

    def udp_total_stability(self, path: str, size: int, stack: str) -> float:
        """Of the test and the UDP stream together; mean of the two periods."""
        rows = self._beside_udp(path, size, stack)
        totals = [self.intervals("sinusoid", run, ("test", "udp")).sum(axis=1) for run in rows["run"]]
        return mean(float(total.std(ddof=0) / total.mean()) for total in totals)

    def udp_gain(self) -> float:
        """By how many percent TCP's throughput beside the sinusoid is above that without it, over all tests."""
        return 100 * (mean(self._beside_udp(p, n, s)["mbps"].mean() / self.thr(p, n, s) for p in PATHS for n in SIZES for s in STACKS) - 1)

    def udp_total_gain(self) -> float:
        """The same of TCP and the sinusoid together, over TCP alone."""
        udp = self.measured["sinusoid"].flows
        udp = udp[udp["group"] == "udp"].set_index("run")["goodput_bps"] / 1e6
        totals = [
            (rows["mbps"] + rows["run"].map(udp)).mean() / self.thr(p, n, s)
            for p in PATHS
            for n in SIZES
            for s in STACKS
            for rows in [self._beside_udp(p, n, s)]
        ]
        return 100 * (mean(totals) - 1)

    def _beside_udp(self, path: str, size: int, stack: str) -> pd.DataFrame:
        return self.rows("sinusoid", path=path, window=WINDOWS[path][size - 1], stack=stack)

    def ping_loss(self) -> float:
        """The most pings lost in a test of Table 1, of those sent."""
        return float(self.measured["throughput"].runs["ping_loss_share"].max())

    # Section 4.3

    def txqueue(self, stack: str, packets: int) -> float:
        """Throughput with a transmit queue of so many packets, window 2, over the longer paths."""
        return float(self.rows("txqueuelen", stack=stack, txqueuelen_packets=packets)["mbps"].mean())

    def txqueue_stability(self, stack: str, packets: int) -> float:
        """The same of the stability index."""
        return float(self.rows("txqueuelen", stack=stack, txqueuelen_packets=packets)["stability"].mean())

    def stalls(self, packets: int) -> float:
        """Times that a full transmit queue of so many packets held TCP back, over all stacks."""
        rows = self.rows("txqueuelen", txqueuelen_packets=packets)
        return float(rows["send_stalls"].sum() / rows["repeat"].nunique())

    # Section 5

    def fair(self, path: str, size: int, stack: str) -> float:
        """Jain's index of two flows of one stack."""

        def index(one: Cells) -> float:
            rates = one.rows("intra", path=path, window=WINDOWS[path][size - 1], stack=stack)["mbps"]
            return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))

        return self.over_seeds("intra", index)

    def intra_mean(self, path: str) -> float:
        """Over stacks and windows."""
        return mean(self.fair(path, n, s) for n in SIZES for s in STACKS[1:])

    def intra_share(self, least: float) -> float:
        """The share of the tests with an index of at least `least`, to the two digits the paper prints."""
        indices = [round(self.fair(p, n, s), 2) for p in PATHS for n in SIZES for s in STACKS[1:]]
        return sum(index >= least for index in indices) / len(indices)

    def swing(self, path: str, size: int, stack: str) -> float:
        """How unequal the two flows are over 5 s: the mean of |x1 - x2| / (x1 + x2) over the intervals."""

        def swing(run: str) -> float:
            rates = self.intervals("intra", run, ("first", "second"))
            return float(((rates["first"] - rates["second"]).abs() / rates.sum(axis=1)).mean())

        return mean(map(swing, self.rows("intra", path=path, window=WINDOWS[path][size - 1], stack=stack)["run"].unique()))

    def _pair(self, path: str, stack: str, other: str) -> tuple[float, float]:
        order = sorted((stack, other), key=STACKS.index)
        rates = self.rows("inter", path=path, pair=" and ".join(order)).groupby("group")["mbps"].mean()
        mine, theirs = ("first", "second") if order[0] == stack else ("second", "first")
        return float(rates[mine]), float(rates[theirs])

    def pair(self, path: str, stack: str, other: str) -> float:
        """Asymmetry of `stack` beside `other`: 1 takes all, -1 leaves all."""

        def asymmetry(one: Cells) -> float:
            mine, theirs = one._pair(path, stack, other)
            return (mine - theirs) / (mine + theirs)

        return self.over_seeds("inter", asymmetry)

    def asym(self, stack: str, path: str | None = None) -> float:
        """Average asymmetry against all others, on one path or over the three.

        As section 5.2 has it, HSTCP-LP does not count for the others on the longer paths, nor P-TCP on the short one.
        """
        if path is None:
            return mean(self.asym(stack, p) for p in PATHS)
        apart = "P-TCP" if path == "Caltech" else "HSTCP-LP"
        return mean(self.pair(path, stack, other) for other in STACKS[1:] if other not in (stack, apart))

    def share_beside(self, other: str, stack: str) -> float:
        """What `stack` gets beside `other`, of what it gets alone; window 3, over the paths."""
        return mean(self._pair(p, stack, other)[0] / self.thr(p, 3, stack) for p in PATHS)

    # Section 5.3

    def _halves(self, stack: str) -> list[tuple[pd.Series, pd.Series]]:
        """Of each seed."""

        def halves(run: str) -> tuple[pd.Series, pd.Series]:
            rates = self.intervals("reverse", run, ("test",))["test"]
            half = rates.index[-1] / 2
            return rates[rates.index <= half], rates[rates.index > half]

        return [halves(run) for run in self.rows("reverse", stack=stack)["run"]]

    def reverse(self, stack: str) -> float:
        """In the first ten minutes, with reverse traffic."""
        return mean(float(first.mean()) for first, _ in self._halves(stack))

    def no_reverse(self, stack: str) -> float:
        """In the last ten."""
        return mean(float(second.mean()) for _, second in self._halves(stack))

    def half_stability(self, stack: str) -> float:
        """Stability index, mean of the two halves."""
        return mean(stability(half) for halves in self._halves(stack) for half in halves)

    # Section 6

    def _sc(self, column: str, mtu: int, window: int, stack: str | None) -> float:
        rows = self.rows("sc2003", mtu_bytes=mtu, window=f"{window} MiB")
        return float(rows[rows["stack"].isin(SC if stack is None else (stack,))][column].mean())

    def sc(self, mtu: int, window: int, stack: str | None = None) -> float:
        """To PAIX, Mb/s: one stack, or the mean of Reno, HS-TCP and S-TCP."""
        return self._sc("mbps", mtu, window, stack)

    def sc_stability(self, mtu: int, window: int, stack: str) -> float:
        """Stability index of the same."""
        return self._sc("stability", mtu, window, stack)

    def sc_udp(self, mtu: int) -> float:
        """UDP between two of its hosts, back to back, Mb/s of payload."""
        runs = self.measured["sc2003-udp"].runs
        return float(runs.loc[runs["mtu_bytes"] == mtu, "goodput_total_bps"].iloc[0] / 1e6)

    def _one(self, stem: str) -> pd.Series:
        """The run of this seed, or of the first, of an experiment that has one run a seed."""
        runs = self.measured[stem].runs
        these = runs[runs["repeat"] == self.repeat]
        return (runs if these.empty else these).iloc[0]

    def challenge(self, stem: str, flows: Sequence[str], first: int = 0, last: int = MINUTES) -> pd.DataFrame:
        """Mb/s in each interval of a test of the Bandwidth Challenge, a column a flow; at PAIX from one minute to another. Of one seed."""
        run = self._one(stem)
        minute = float(run["end_s"]) / MINUTES
        rates = self.intervals(stem, run["run"], flows)
        return rates[(rates.index > first * minute) & (rates.index <= last * minute)]

    def challenge_total(self, stem: str) -> pd.Series:
        """Mb/s on the wire of the link that the challenge shared."""
        result = self.measured[stem].open(self._one(stem)["run"])
        link = result.links.loc[result.links["bottleneck"].eq(1), "link"].iloc[0]
        wire = result.link_series[result.link_series["link"].eq(link)].set_index("time_s")["wire_bytes"]
        return (wire.diff() * 8e-6 / pd.Series(wire.index, wire.index).diff()).iloc[1:]

    def paix(self, test: str) -> pd.DataFrame:
        """To PAIX, in the minutes of the test that Figure 6 shows. Of one seed."""
        return self.challenge("sc2003-paix", *PAIX[test])

    def drop_1632(self) -> float:
        """What HS-TCP has to PAIX in the two minutes from 16:32, of what it had in the four before."""

        def drop(one: Cells) -> float:
            minutes = [one.challenge("sc2003-paix", ("HS-TCP",), *span)["HS-TCP"].mean() for span in ((32, 34), (28, 32))]
            return float(minutes[0] / minutes[1])

        return self.over_seeds("sc2003-paix", drop)

    def full_1632(self) -> float:
        """The link's rate in the same two minutes, of its most in any interval."""

        def full(one: Cells) -> float:
            total = one.challenge_total("sc2003-paix")
            minute = float(total.index[-1]) / MINUTES
            return float(total[(total.index > 32 * minute) & (total.index <= 34 * minute)].mean() / total.max())

        return self.over_seeds("sc2003-paix", full)

    def sc_one(self) -> float:
        """One S-TCP flow to PAIX."""
        return self.over_seeds("sc2003-paix", lambda one: float(one.paix("s-paix").sum(axis=1).mean()))

    def sc_two(self) -> float:
        """Two between the same hosts, together."""
        return self.over_seeds("sc2003-paix", lambda one: float(one.paix("two-s").sum(axis=1).mean()))

    def sc_one_stability(self) -> float:
        """Of the one."""
        return self.over_seeds("sc2003-paix", lambda one: stability(one.paix("s-paix").sum(axis=1)))

    def sc_two_stability(self) -> float:
        """Of the sum of the two."""
        return self.over_seeds("sc2003-paix", lambda one: stability(one.paix("two-s").sum(axis=1)))

    # As a whole

    def rank_correlation(self, path: str | None, published: dict[tuple[str, int, str], float]) -> float:
        """Spearman's, of our cells of Table 1 with the published ones: over a path, or all."""
        cells = [cell for cell in published if path in (None, cell[0])]
        return rank_correlation([self.thr(*cell) for cell in cells], [published[cell] for cell in cells])

    def stacks_correlation(self, path: str, published: dict[tuple[str, int, str], float]) -> float:
        """Spearman's of the eight stacks on a path, each the mean of windows 2 and 3: the order of the stacks alone."""
        theirs = [mean(published[path, n, s] for n in (2, 3)) for s in STACKS]
        return rank_correlation([self.thr_mean(path, s) for s in STACKS], theirs)
