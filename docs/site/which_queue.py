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

For operators who choose a queue: every queue that can stand alone in front of a link, on three paths, with four
congestion controls. Each path has one bulk flow, 50 of them, or one with web pages and a ping beside.
"""
NOTES = """
## What to look at first

- **A limit in packets is for one rate.** `fq` and `sfq` have room for 100 packets per flow and 127 in all by default.
  On the fast paths slow start overflows it at once, and one flow gets a fraction of the link. Set `limit` there.
- **A target in milliseconds is short for a long path.** `codel`, `red` and `dualpi2` keep the wait to some
  milliseconds. A single Reno or CUBIC flow that halves its window then leaves the link idle: less at 30 ms of round
  trip than at 80 or 100 ms. A single Reno flow keeps 39 % of 1 Gb/s with `codel`, and 29 % with `dualpi2`. `bbr3` does
  not mind.
- **`droptail` fills the link and its queue.** With 50 flows the 99th percentile of its wait is its limit in 11 of 12
  cells.
- **`cake` without a `rate` shapes nothing.** It is `fq_codel` then: every number of one flow is the same, and with 50
  flows utilization is within 1 % ([why](../notebook/which-queue-in-step.md)).
- **Flows with a queue of their own get a share soon.** At 1 Gb/s, from 8 to 20 s, Jain's index is 0.97 or more with a
  queue per flow, and 0.42 to 0.99 without: the first flow keeps more.
- **50 flows at 20 Mb/s have a window of one or two packets each.** A queue that keeps the wait short must drop many of
  their packets.

## How to read the tables

Each cell has

1. the utilization of the bottleneck;
2. the wait of packets in its queue: median and 99th percentile, in ms;
3. the share of its packets that were dropped, in per cent, over the whole run;
4. with 50 flows, J: Jain's index of their goodput. With pages beside, the mean round trip of the ping, in ms.

Runs last {durations}, with one seed, and flows start 7 ms apart. **At 10 Gb/s that is short**: a single Reno or CUBIC
flow takes minutes to recover from a loss there, so the table shows how slow start ended. No number here is from a
paper.

Queues have their defaults, with `ecn = true` where that parameter is off by default: `red`, `codel`, `pie`, `fq_pie`.
`droptail` has one BDP. The stack is `linux`. Its ECN is off except with `prague`, so the other controls see drops, not
marks.

Left out are [policer](queues/policer.md) and [tbf](queues/tbf.md), which set a rate;
[buffer_pool](queues/buffer_pool.md) and [red_ansnet](queues/red_ansnet.md), the cards of 1994; and
[prio](queues/prio.md), [htb](queues/htb.md) and [wred](queues/wred.md), which are `droptail`, `tbf` and `red` for flows
of one class.

`longfat run which-queue` runs the experiments, and `python docs/site/which_queue.py` writes this page from the results.
"""

MARK = "<!-- Below this line the page is generated: see docs/site/which_queue.py -->"


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
    page = [HEAD, shown, NOTES.format(durations=durations), MARK, *tables(runs)]
    (ROOT / "docs" / "which-queue.md").write_text("\n\n".join(part.strip() for part in page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "which-queue")
