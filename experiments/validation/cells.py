"""What the runs of the family say: a number for each question."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import longfat.paper
import pandas as pd
from longfat import theory
from longfat.paper import Measured

PERIODS = ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8")
START, INTERVAL = 30.0, 5.0
"""Of the second flow, and of the series, in seconds, in `convergence.toml`."""
RATIOS = ("1", "2", "3", "6")

LOSS_BASED = ("reno", "aimd", "tahoe", "scalable", "highspeed", "htcp", "bic", "cubic", "hybla", "westwood")
WITH_DELAY = ("reno", "illinois", "vegas", "fast", "yeah", "compound", "tcp_lp", "hstcp_lp", "bbr", "bbr3")
BY_MARKS = ("dctcp", "prague")

Window = Callable[[float], float]


def cubic(rtt: float) -> Window:
    """CUBIC's window as RFC 9438 section 5.1 tabulates it: the larger of its two regions'."""
    return lambda p: max(theory.cubic(p, rtt), theory.cubic_friendly(p))


THEORY: Mapping[str, Window] = {
    "reno": theory.aimd,
    "aimd": lambda p: theory.aimd(p, 1, 0.125),
    "scalable": theory.scalable,
    "highspeed": theory.highspeed,
    "cubic": cubic(0.1),
    "cubic-10ms": cubic(0.01),
    "compound": theory.compound,
    "hybla": lambda p: theory.hybla(p, 0.1),
    "illinois": theory.illinois,
    "yeah": theory.yeah,
    "bic": theory.bic,
    "htcp": lambda p: theory.htcp(p, 0.1),
}
"""The response function of each, in segments."""

RED = 2 / 3
MARKED: Mapping[str, Window] = {
    "dctcp": lambda p: theory.dctcp(p, RED),
    "prague": lambda p: theory.prague(p, RED),
}
"""The same against the share of packets marked, under RED's even distances."""
MSS, RTT, RTO = 1000, 0.1, 1.0
"""Of `response-random.toml`, in bytes and seconds."""


class Cells(longfat.paper.Cells):
    """The numbers of one set of results."""

    def __init__(self, measured: Measured) -> None:
        super().__init__(measured)
        self._windows: dict[str, dict[str, float]] = {}

    def windows(self, what: str) -> dict[str, float]:
        """Average window in segments by p, of a key of `THEORY`."""
        if what not in self._windows:
            self._windows[what] = self._read(what)
        return self._windows[what]

    def _read(self, what: str) -> dict[str, float]:
        found = dict[str, float]()
        for run in self.measured["response-reno" if what == "aimd" else f"response-{what}"]:
            if run.labels.get("control", what) != what:
                continue
            drops = run.events.loc[run.events["kind"] == "dropped_loss", "time_s"].tolist()
            # Whole cycles, the first half of them left to the transient: each has 1/p packets, and takes what it takes.
            first = len(drops) // 2
            rounds = (drops[-1] - drops[first]) / float(run.flows["rtt_min_s"].iloc[0])
            found[run.labels["p"]] = (len(drops) - 1 - first) / float(run.labels["p"]) / rounds
        return found

    def window(self, what: str, p: str) -> float:
        """One of them; NaN where it was not run."""
        return self.windows(what).get(p, math.nan)

    def off(self, what: str, p: str, of: Window | None = None) -> float:
        """How far it is from the theory: 0.05 is 5 % more."""
        return self.window(what, p) / (of or THEORY[what])(float(p)) - 1

    @staticmethod
    def rounds(what: str, p: str) -> float:
        """Round trips between two losses, says the theory."""
        return 1 / float(p) / THEORY[what](float(p))

    def random(self) -> pd.DataFrame:
        """Under random loss: p, recovery, and segments a round trip, those delivered and all sent, mean of the repeats."""
        flows = self.measured["response-random"].flows
        window = flows["goodput_bps"] * flows["rtt_min_s"] / (8 * MSS)
        flows = flows.assign(p=flows["p"].astype(float), window=window, sent=window * flows["bytes_sent"] / flows["bytes_delivered"])
        return flows.groupby(["recovery", "p"], as_index=False)[["window", "sent"]].mean()

    def lossy_share(self) -> pd.DataFrame:
        """Payload over the rate of a lossy link, mean of the repeats: a row a control, a column a loss rate."""
        flows = self.measured["random-loss"].flows
        flows = flows.assign(p=flows["p"].astype(float), share=flows["goodput_bps"] / 1e8)
        return flows.pivot_table(index="control", columns="p", values="share")

    def marked(self) -> pd.DataFrame:
        """Under RED's marks: control, share of packets marked, and segments a round trip."""
        measured = self.measured["response-marking"]
        links = measured.links[measured.links["bottleneck"] == 1].set_index("run")
        flows = measured.flows.assign(p=measured.flows["run"].map(links["marks"] / links["packets_transmitted"]))
        return flows.assign(window=flows["goodput_bps"] * flows["rtt_mean_s"] / (8 * flows["bytes_sent"] / flows["segments_sent"]))

    def convergence(self) -> dict[str, tuple[float, float]]:
        """Seconds from the start of the second flow until Jain's index of 5 s is over 0.95 for the first time, and until it stays so."""
        stems = [stem for stem in ("convergence", "convergence-marking") if stem in self.measured]
        return {run.labels["control"]: _converged(run.flow_series) for stem in stems for run in self.measured[stem]}

    def rtt_ratio(self, suffix: str = "") -> pd.DataFrame:
        """Rate of the flow of 20 ms over that of the other, mean of the repeats: a row a control, a column a ratio."""
        rates = self._rates(f"rtt-unfairness{suffix}", ["control", "ratio", "repeat"], "flow")
        ratio = (rates[0] / rates[1]).groupby(level=["control", "ratio"]).mean()
        return ratio.unstack()

    def reno_share(self) -> pd.DataFrame:
        """What Reno gets beside a control over what two Renos get on average: a row a control, a column a capacity in bit/s."""
        rates = self._rates("friendliness", ["control", "capacity_bps"], "group")
        return rates["reno"].unstack() / _even(rates)

    def marked_reno_share(self) -> pd.DataFrame:
        """The same in front of a marker, for a Reno without ECN, as the two are, and one with: a row a control and Reno."""
        rates = self._rates("friendliness-marking", ["beside", "control", "capacity_bps"], "group")
        shares = rates["reno"].unstack() / _even(rates.loc["Reno"])
        shares.index = [f"{control} beside {reno}" for reno, control in shares.index]
        return shares

    def utilization(self, suffix: str = "") -> pd.DataFrame:
        """Of the bottleneck, by control and buffer, or threshold of the marks, in BDP."""
        return self._utilization(f"utilization{suffix}", "threshold" if suffix else "buffer")

    def _utilization(self, stem: str, column: str) -> pd.DataFrame:
        table = self.measured[stem].runs.pivot_table(index="control", columns=column, values="bottleneck_utilization")
        table.columns = [float(str(name).split()[0]) for name in table.columns]
        return table.sort_index(axis=1)

    def _rates(self, stem: str, rows: list[str], columns: str) -> pd.DataFrame:
        return self.measured[stem].flows.pivot_table(index=rows, columns=columns, values="goodput_bps")

    def names(self) -> dict[str, Any]:
        """What inequalities of `claims.csv` may say."""
        return {
            "rtt_ratio": lambda control, ratio: self.rtt_ratio().loc[control, str(ratio)],
            "reno_share": lambda control, rate: self.reno_share().loc[control, rate],
            "utilization": lambda control, buffer: self.utilization().loc[control, buffer],
            "marked_utilization": lambda control, threshold: self.utilization("-marking").loc[control, threshold],
            "marked_rtt_ratio": lambda control, ratio: self.rtt_ratio("-marking").loc[control, str(ratio)],
            "marked_reno_share": lambda control, reno, rate: self.marked_reno_share().loc[f"{control} beside {reno}", rate],
            "convergence": lambda control: self.convergence()[control][1],
            "lossy_share": lambda control, p: self.lossy_share().loc[control, p],
            "random": lambda p: float(self.random().query("p == @p")["window"].max()),
            "sent": lambda recovery, p: float(self.random().query("p == @p and recovery == @recovery")["sent"].iloc[0]),
            "pftk": lambda p: theory.pftk(p, RTT, RTO, segments_per_ack=1),
            "pftk_full": lambda p: theory.pftk_full(p, RTT, RTO, segments_per_ack=1),
            "mathis": theory.mathis,
        }


def _even(rates: pd.DataFrame) -> pd.Series:
    # Of two flows without any noise one can stay ahead for long: the even share is the mean of both.
    return rates.loc["reno"].mean(axis=1)


def _converged(series: pd.DataFrame) -> tuple[float, float]:
    delivered = series.pivot(index="time_s", columns="flow", values="bytes_delivered")
    rates = delivered.diff()[delivered.index > START + INTERVAL]
    jain = rates.sum(axis=1) ** 2 / (2 * (rates**2).sum(axis=1))
    fair, unfair = jain.index[jain > 0.95], jain.index[jain <= 0.95]
    first = float(fair[0]) - INTERVAL - START if len(fair) else math.nan
    if not len(unfair):
        return first, first
    return first, math.nan if unfair[-1] == jain.index[-1] else float(unfair[-1]) - START
