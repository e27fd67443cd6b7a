"""Completion times of flows by their sizes (traffic `flows`)."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.lazy import np, pd

if TYPE_CHECKING:
    from longfat.results.results import Results

EDGES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Sizes in bytes of payload between which flows are alike: pFabric (SIGCOMM 2013, section 5) calls those up to 100 kB small and those above
10 MB large."""


def finished(results: Results) -> pd.DataFrame:
    """Flows of `flows` that began after the warmup and finished, with their size as `bytes_delivered` and their `slowdown`."""
    flows = results.flows
    return flows[flows["slowdown"].notna()] if "slowdown" in flows else flows.iloc[:0]


def by_size(results: Results, edges: Sequence[float] = EDGES) -> pd.DataFrame:
    """Makes the table of `Results.by_size`."""
    if list(edges) != sorted(set(edges)) or not edges or edges[0] <= 0:
        raise LongfatError(f"edges={list(edges)!r}: sizes in bytes above 0, each larger than the one before it")
    flows = finished(results)
    if flows.empty:
        raise LongfatError('no run has a finished flow of traffic = { kind = "flows", ... }')
    bounds = [0.0, *map(float, edges), np.inf]
    place = np.digitize(flows["bytes_delivered"], bounds[1:-1], right=True)
    group = "flow_group" if "flow_group" in flows else "group"
    keys = [*results.axes, group]
    rows = flows.assign(above_bytes=np.asarray(bounds)[place], up_to_bytes=np.asarray(bounds)[place + 1])
    parts = rows.groupby([*keys, "above_bytes", "up_to_bytes"], sort=False, dropna=False)

    def least(share: float) -> Callable[[pd.Series], float]:
        """The least value that so large a share does not exceed, as the metrics of a run have it."""
        return lambda values: float(np.quantile(values, share, method="inverted_cdf"))

    table = parts.agg(
        flows=("slowdown", "size"),
        completion_mean_s=("completion_s", "mean"),
        **{f"completion_p{100 * share:.0f}_s": ("completion_s", least(share)) for share in (0.5, 0.95, 0.99)},
        **{f"slowdown_p{100 * share:.0f}": ("slowdown", least(share)) for share in (0.5, 0.99)},
    )
    # Settings in the order of the runs, sizes from small to large.
    order = {key: place for place, key in enumerate(dict.fromkeys(map(tuple, rows[keys].to_numpy())))}
    table = table.reset_index()
    table["order"] = [order[tuple(row)] for row in table[keys].to_numpy()]
    return table.sort_values(["order", "above_bytes"], kind="stable").drop(columns="order").reset_index(drop=True)
