"""Beyond the paper: a server some of whose connections are right-sized (`beyond/adoption.toml`, `beyond/adoption-uploads.toml`)."""

from __future__ import annotations

import pandas as pd
from longfat.paper import Measured, Table
from longfat.plot import Axis, Plot, Series

from .cells import Cells
from .study import cells, paper

SHARES = ("0 %", "25 %", "50 %", "75 %", "100 %")
OTHERS = ("static", "auto-psc", "linux")
KINDS = ("right-sized", "others")
FAR = "c200"
# Of a run, in both forms.
WARMUP = 0.4


def connections(c: Cells, stem: str, others: str, share: str, kind: str) -> pd.DataFrame:
    """The connections of a kind, beside `others`, with what the server holds and promises for each: bytes, mean after the warmup."""
    # All right-sized, there are no others to tell apart.
    others = OTHERS[0] if share == SHARES[-1] else others
    flows = c.rows(f"beyond/{stem}", others=others, adoption=share, group=kind)
    result = c.measured[f"beyond/{stem}"].open(flows["run"].iloc[0])
    series = result.flow_series
    after = series[series["time_s"] > WARMUP * result.end_s]
    held = "send_buffered_bytes" if stem == "adoption" else "receive_buffered_bytes"
    mean = after.groupby("flow")[[held, "promised_bytes"]].mean().rename(columns={held: "held", "promised_bytes": "promised"})
    return flows.join(mean, on="flow")


def line(c: Cells, stem: str, others: str, share: str, kind: str) -> list[float]:
    """What `COLUMNS` says of a kind."""
    of = connections(c, stem, others, share, kind)
    everyone = c.rows(f"beyond/{stem}", adoption=share, others=of["others"].iloc[0])["goodput_bps"].mean()
    far = of[(of["to"] if stem == "adoption" else of["from"]) == FAR]
    return [
        of["goodput_bps"].mean() / 1e6,
        far["goodput_bps"].mean() / 1e6,
        of["held"].mean() / 1024,
        of["promised"].mean() / 1024,
        float((of["goodput_bps"] < everyone / 10).sum()),
    ]


COLUMNS = ("goodput", "at 200 ms", "held (KiB)", "promised (KiB)", "under a tenth")


def name(others: str, kind: str, share: str = "") -> str:
    """What a kind is called, beside `others` if there are any."""
    if kind == "others":
        return others
    return kind if share == SHARES[-1] else f"{kind}, beside {others}"


def table(c: Cells, stem: str, title: str) -> Table:
    """All of it, by what the others are, the share, and the kind."""
    rows = {
        f"{share}: {name(others, kind, share)}": line(c, stem, others, share, kind)
        for others in OTHERS
        for share in SHARES
        for kind in KINDS
        if (kind, share) not in {("right-sized", SHARES[0]), ("others", SHARES[-1])} and (share != SHARES[-1] or others == OTHERS[0])
    }
    return Table(title, COLUMNS, rows)


def figure(c: Cells, stem: str, title: str) -> Plot:
    """Goodput of a connection by share: a colour what the others are, right-sized ones whole, the others dashed."""
    series = [
        Series(
            name(others, kind),
            [25 * SHARES.index(share) for share in shares],
            [connections(c, stem, others, share, kind)["goodput_bps"].mean() / 1e6 for share in shares],
            colour=i,
            dash=dash,
            marker=i,
        )
        for i, others in enumerate(OTHERS)
        for dash, (kind, shares) in enumerate((("right-sized", SHARES[1:]), ("others", SHARES[:-1])))
    ]
    return Plot(stem, title, Axis("connections right-sized (%)", start=0, end=100), Axis("goodput of a connection (Mb/s)", start=0), series)


OF = "goodput of a connection (Mb/s), memory for it at the server, and how many have under a tenth of the mean of all"


@paper.table(where="beyond: adoption")
def uploads_table(measured: Measured) -> Table:
    """Memory is scarce."""
    return table(cells(measured), "adoption-uploads", f"A server that receives: {OF}")


@paper.table(where="beyond: adoption")
def downloads_table(measured: Measured) -> Table:
    """The link is scarce."""
    return table(cells(measured), "adoption", f"A server that sends: {OF}")


@paper.figure(where="beyond: adoption")
def uploads_figure(measured: Measured) -> Plot:
    """Memory is scarce; where the link is, all have the same."""
    return figure(cells(measured), "adoption-uploads", "Adoption at a server that receives")
