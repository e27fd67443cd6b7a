"""The tables of `docs/which-queue.md` and its picture, from the runs of the family `experiments/which-queue`.

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
    """Writes tables and picture."""
    runs = read(results)
    picture(runs).save(ROOT / "docs" / "images" / "which-queue.svg")
    path = ROOT / "docs" / "which-queue.md"
    by_hand = path.read_text(encoding="utf-8").partition(MARK)[0]
    page = [by_hand, MARK, *tables(runs)]
    path.write_text("\n\n".join(part.strip() for part in page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "which-queue")
