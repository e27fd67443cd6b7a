"""The page `docs/which-queue.md` and its picture, from the runs of the family `experiments/which-queue`.

longfat run which-queue                  # ten minutes or so
python docs/site/which_queue.py          # reads what is in results/which-queue, or in the folder that is named
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import longfat
import pandas as pd
from longfat.plot import Axis, Plot, Series

ROOT = Path(__file__).parent.parent.parent
FAMILY = ROOT / "experiments" / "which-queue"
PATHS = {"20m": "20 Mb/s, 30 ms", "1g": "1 Gb/s, 80 ms", "10g": "10 Gb/s, 100 ms"}
CONTROLS = ["reno", "cubic", "bbr3", "prague"]
HEAD = """# Which queue for which path

Every queue that can stand in front of a link by itself, on three paths, with four congestion controls: one bulk flow, 50 of them,
and one with pages and a ping beside. `longfat run which-queue` runs it, and `python docs/site/which_queue.py` writes this page
from the results. No number here is from a paper.

Each cell has

1. the utilization of the bottleneck,
2. how long packets waited in its queue: the median and the 99th percentile, in ms,
3. how many of its packets were dropped, in per cent, over the whole run,
4. of 50 flows Jain's index of their goodput; with pages beside, the mean round trip of the ping, in ms.

Queues have their defaults, but for `ecn = true` where it is a parameter and off: `red`, `codel`, `pie`, `fq_pie`. `droptail` has
one BDP. Not here are [policer](queues/policer.md) and [tbf](queues/tbf.md), which set a rate, and
[buffer_pool](queues/buffer_pool.md) and [red_ansnet](queues/red_ansnet.md), the cards of 1994; nor
[prio](queues/prio.md), [htb](queues/htb.md) and [wred](queues/wred.md), whose classes are what they are for: here all flows are
of one class, for which they are `droptail`, `tbf` and `red`. The stack is `linux`, whose ECN is off but with `prague`: the
other controls see drops, not marks.
"""
NOTES = """
How long runs are: {durations}. **At 10 Gb/s that is short**: a Reno or CUBIC flow alone takes minutes to come back from a loss
there, so what the table shows is how slow start ended. It is one seed, and flows start 7 ms apart.

What to look at first:

- **A limit in packets is for one rate.** `fq` and `sfq` have room for 100 packets a flow and 127 in all unless told otherwise. That is
  plenty for 20 Mb/s. On the fast paths slow start overflows it at once, and one flow gets a fraction of the link. Give them a `limit`.
- **A target in milliseconds is short of a long path.** `codel`, `red` and `dualpi2` keep the wait to some milliseconds. One flow of
  Reno or CUBIC that halves its window then leaves the link idle: less at 30 ms of round trip than at 80 or 100 ms. There they also go on
  dropping while the answer to the first drop is on its way, and what is lost then halves the window again: a Reno flow alone keeps 39 % of
  1 Gb/s with `codel`, and 29 % with `dualpi2`. `bbr3` does not mind.
- **`droptail` is full, and so is its queue**: with 50 flows the 99th percentile of its wait is its limit in 11
  of 12 cells. That is the price of its 100 %.
- **`cake` without a `rate` shapes nothing, and then is `fq_codel`**: of one flow every number is the same, and of 50 flows utilization is
  within 1 %. A turn of 50 flows of one host is the 50th part of a packet, which changes nothing here. With `isolation = "flows"`, and
  `fq_codel` with `collisions = false` and the same limit, all numbers are the same. By default `fq_codel` holds 250 ms, `cake` 400.
- **50 flows that start at the same instant stay in step, and a detail decides.** 50 such Reno flows at 10 Gb/s have 34 % with `cake`,
  after 12 drops and 3 reductions each. With `fq_codel` they have 34 to 69 % with six seeds: where two of them share a line, these take
  less, and the queue of the others is gone after 11 drops and 2 reductions (69 %). 7 ms apart, as here, they have 69 % with both.
- **Who has a line of its own gets a share soon.** At 1 Gb/s, from 8 to 20 s, J is 0.97 or more where each flow has a line, and 0.42 to
  0.99 where not: who starts first keeps more.
- **50 flows at 20 Mb/s are a window of a packet or two each.** What keeps the wait short there must drop a good part of what comes.
"""


def read(results: Path) -> pd.DataFrame:
    """One row a run: what the tables and the picture need."""
    parts = []
    for path in PATHS:
        for file in (FAMILY / f"{path}.toml", FAMILY / f"{path}-web.toml"):
            of = longfat.load(str(file)).sweep(results / file.stem)
            links = of.links
            link = links[links["name"] == "bottleneck>"].set_index("run")
            dropped = (link["drops_overflow"] + link["drops_early"]) / link["packets_in"]
            runs = of.runs.set_index("run").assign(dropped=dropped, path=path)
            runs["mix"] = "web" if file.stem.endswith("-web") else runs["flows"].astype(str)
            parts.append(runs.reset_index())
    return pd.concat(parts, ignore_index=True)


def ms(seconds: float) -> str:
    """Milliseconds, to two digits or so."""
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def cell(run: pd.Series) -> str:
    """Results of one run, as a cell."""
    wait = f"{ms(run['bottleneck_queue_delay_p50_s'])} / {ms(run['bottleneck_queue_delay_p99_s'])}"
    parts = [f"{100 * run['bottleneck_utilization']:.0f} %", f"{wait} ms", f"{100 * run['dropped']:.2g} %"]
    if run["mix"] == "50":
        parts.append(f"J {run['jain_index']:.2f}")
    if run["mix"] == "web":
        parts.append(f"ping {ms(run['ping_rtt_mean_s'])} ms")
    return "<br>".join(parts)


def tables(runs: pd.DataFrame) -> Iterator[str]:
    """A table for each path and what is on it, a row for each queue."""
    mixes = {"1": "one flow", "50": "50 flows", "web": "one flow, with pages and a ping beside"}
    for path, name in PATHS.items():
        yield f"## {name}"
        for mix, what in mixes.items():
            of = runs[(runs["path"] == path) & (runs["mix"] == mix)]
            cells = {(run["queue"], run["control"]): cell(run) for _, run in of.iterrows()}
            of_queue = {queue: [cells[queue, control] for control in CONTROLS] for queue in dict.fromkeys(of["queue"])}
            rows = [f"| {queue} | {' | '.join(of_controls)} |" for queue, of_controls in of_queue.items()]
            head = f"| queue | {' | '.join(f'`{control}`' for control in CONTROLS)} |\n|---|---|---|---|---|"
            yield "\n".join([f"### {name}: {what}", "", head, *rows])


def picture(runs: pd.DataFrame) -> Plot:
    """Utilization against the wait, of 50 flows of CUBIC on the path of 1 Gb/s."""
    of = runs[(runs["path"] == "1g") & (runs["mix"] == "50") & (runs["control"] == "cubic")]
    by_queue = of.groupby("queue", sort=False)
    # The palette has seven colours.
    series = [
        Series(
            str(queue),
            list(1e3 * each["bottleneck_queue_delay_p99_s"]),
            list(100 * each["bottleneck_utilization"]),
            line=False,
            colour=number % 7,
            marker=number // 7,
        )
        for number, (queue, each) in enumerate(by_queue)
    ]
    return Plot(
        "which-queue",
        "50 flows of CUBIC at 1 Gb/s, 80 ms",
        Axis("wait, 99th percentile (ms)", log=True),
        Axis("utilization (%)"),
        series,
    )


def main(results: Path) -> None:
    """Writes page and picture."""
    runs = read(results)
    picture(runs).save(ROOT / "docs" / "images" / "which-queue.svg")
    durations = ", ".join(f"{runs.loc[runs['path'] == path, 'end_s'].max():.0f} s at {name.split(',')[0]}" for path, name in PATHS.items())
    shown = "![Utilization against the 99th percentile of the wait, 15 queues, 50 flows of CUBIC at 1 Gb/s](images/which-queue.svg)"
    page = [HEAD + NOTES.format(durations=durations), shown, *tables(runs)]
    (ROOT / "docs" / "which-queue.md").write_text("\n\n".join(part.strip() for part in page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "which-queue")
