"""Beyond the paper: who holds the memory of a server that receives (`beyond/hoarders.toml`)."""

from __future__ import annotations

import pandas as pd
from longfat.paper import Measured, Table
from longfat.plot import Axis, Plot, Series

from .cells import Cells
from .study import cells, paper

# Of the connections that hold most.
HOARDERS = 1 / 20


def hoard(c: Cells, share: str) -> pd.DataFrame:
    """By time, of the `auto-psc` connections beside a share of right-sized ones.

    Their goodput (Mb/s, mean since the time before), what they hold (KiB, mean), and of that the part (%) of the twentieth that holds most.
    """
    rows = c.rows("beyond/hoarders", adoption=share, group="others")
    series = c.measured["beyond/hoarders"].open(rows["run"].iloc[0]).flow_series
    series = series[series["flow"].isin(rows["flow"])]
    of_time = series.groupby("time_s")
    delivered, held = of_time["bytes_delivered"].mean(), of_time["receive_buffered_bytes"]
    most = held.apply(lambda at: at.nlargest(round(HOARDERS * len(at))).sum() / max(at.sum(), 1))
    times = delivered.index.to_series()
    return pd.DataFrame({"goodput": delivered.diff() * 8e-6 / times.diff(), "held": held.mean() / 1024, "most": 100 * most}).iloc[1:]


@paper.table(where="beyond: adoption")
def hoarders_table(measured: Measured) -> Table:
    """How long the first hold what they took."""
    c = cells(measured)
    rows = {}
    for share in c.rows("beyond/hoarders")["adoption"].unique():
        of = hoard(c, share)
        for time in (1, 5, 10, 20, 30, 40, 60):
            if time in of.index:
                rows[f"{share} right-sized: at {time} s"] = of.loc[time].tolist()
    return Table("auto-psc at a server that receives: by time", ("goodput (Mb/s)", "held (KiB)", "by a twentieth (%)"), rows)


@paper.figure(where="beyond: adoption")
def hoarders_figure(measured: Measured) -> Plot:
    """What the twentieth of them that holds most has of all their memory."""
    c = cells(measured)
    series = []
    for i, share in enumerate(c.rows("beyond/hoarders")["adoption"].unique()):
        of = hoard(c, share)
        series.append(Series(f"{share} right-sized", of.index.tolist(), of["most"].tolist(), colour=i, dash=i, markers=False))
    value = Axis("held by a twentieth of them (% of what all hold)", start=0)
    return Plot("hoarders", "Memory held with auto-psc at a server that receives", Axis("time (s)", start=0), value, series)
