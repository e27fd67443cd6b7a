"""Fits the model that names a cause of losses (`crates/capture/src/flow/verdict/weights.csv`).

    python bench/verdicts.py --split fit --seed 22 --features fit.json
    python bench/fit_verdicts.py fit.json [--write]

Multinomial logistic regression over the features of captures with losses, with equal weight for each cause. The penalty is the one with
the least Brier score in a cross-validation: each round trip of the set is a fold, so that the model is judged on paths it has not seen.
Needs scikit-learn, which longfat itself does not.
"""

# scikit-learn has no types.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from longfat._longfat import trace_features
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut

WEIGHTS = Path(__file__).parent.parent / "crates/capture/src/flow/verdict/weights.csv"
CAUSES = ("active queue management", "bursts over a small buffer", "congestion, by loss", "policer", "random loss")
# Features that a path of another rate or length would change say nothing of a cause; neither do those of other causes.
LOGS = [
    "queue_delay_median_share",
    "queue_delay_high_share",
    "plateau_segments",
    "loss_episodes",
    "lost_share",
    "lost_per_episode",
    "longest_run",
    "runs",
    "bucket_depth",
    "bucket_sigmas",
    "retransmitted",
]
LINEAR = [
    "ack_wait",
    "utilization",
    "plateau",
    "at_receiver",
    "single_losses",
    "lost_in_runs",
    "rtt_rank_at_losses",
    "queue_fullness",
    "early_losses_sure",
    "losses_in_queue_sure",
    "losses_in_longer_queue_sure",
    "losses_at_one_length_share",
    "passed_within",
    "token_share",
    "token_rate",
    "token_misfit",
    "ahead_median",
    "ahead_low",
    "late_median",
    "late_low",
    "bucket_explains",
    "bucket_waited",
]
LEAST = 0.01
"""Logarithms are of this and more: a queue shorter than a hundredth of the round trip is none."""
WIDEST = 2.5
"""Values further than so many standard deviations from the mean count as these: what is far from all captures here weighs no more."""
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse strengths of the penalty, the strongest first."""


def table(rows: list[dict[str, Any]]) -> np.ndarray:
    """A row for each capture, NaN for what is unknown."""
    values = np.array([[np.nan if row["features"][name] is None else row["features"][name] for name in LOGS + LINEAR] for row in rows])
    values[:, : len(LOGS)] = np.log(np.maximum(values[:, : len(LOGS)], LEAST))
    return values


class Model:
    """Logistic regression over standardized features; one that is unknown is at its mean, and has a weight of its own."""

    def __init__(self, values: np.ndarray, causes: np.ndarray, penalty: float) -> None:
        self.mean, self.scale = np.nanmean(values, 0), np.nanstd(values, 0)
        self.scale[self.scale == 0] = 1
        self.low = np.maximum(np.nanmin(values, 0), self.mean - WIDEST * self.scale)
        self.high = np.minimum(np.nanmax(values, 0), self.mean + WIDEST * self.scale)
        self.fitted = LogisticRegression(C=penalty, max_iter=5000, class_weight="balanced").fit(self.columns(values), causes)

    def columns(self, values: np.ndarray) -> np.ndarray:
        is_unknown = np.isnan(values)
        standard = (np.clip(values, self.low, self.high) - self.mean) / self.scale
        return np.hstack([np.where(is_unknown, 0, standard), is_unknown])

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        return self.fitted.predict_proba(self.columns(values))


def brier(probabilities: np.ndarray, causes: np.ndarray) -> float:
    """Mean square of all probabilities less truth (Brier, Monthly Weather Review 78, 1950)."""
    return float(np.mean(((probabilities - (causes[:, None] == np.array(CAUSES))) ** 2).sum(1)))


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("features", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = [row for file in asked.features for row in json.loads(file.read_text(encoding="utf-8"))]
    # The ends' causes are left to the rules: a capture that they give to the network is the model's.
    rows = [row for row in rows if row["features"]["loss_episodes"] and row["cause"] in CAUSES and row["verdict"] in CAUSES]
    units = {name: unit for name, unit, *_ in trace_features()}
    values, causes = table(rows), np.array([row["cause"] for row in rows])
    runs = {row["file"].rsplit("-", 1)[0] for row in rows}
    rtts = np.array([re.findall(r"-(\d+ms)-", row["file"])[0] for row in rows])
    print(f"{len(rows)} captures of {len(runs)} runs; longfat trace: {np.mean([row['verdict'] == row['cause'] for row in rows]):.3f} right")
    scores: dict[float, list[float]] = {}
    for penalty in PENALTIES:
        found, scores[penalty] = np.zeros((len(rows), len(CAUSES))), []
        for fit, held in LeaveOneGroupOut().split(values, causes, rtts):
            found[held] = Model(values[fit], causes[fit], penalty).probabilities(values[held])
            scores[penalty].append(brier(found[held], causes[held]))
        right = np.mean(np.array(CAUSES)[found.argmax(1)] == causes)
        print(f"penalty 1/{penalty}: cross-validated {right:.3f} right, Brier {np.mean(scores[penalty]):.3f}")
    best = min(scores, key=lambda penalty: float(np.mean(scores[penalty])))
    if not asked.write:
        return
    model = Model(values, causes, best)
    weights, count = model.fitted.coef_, len(LOGS + LINEAR)
    digest = hashlib.sha256(json.dumps([[row["file"], row["cause"], row["features"]] for row in rows]).encode()).hexdigest()
    with WEIGHTS.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# bench/fit_verdicts.py: {len(rows)} captures of {len(runs)} runs, SHA-256 {digest}; penalty 1/{best}\n")
        out = csv.writer(file, delimiter=";", lineterminator="\n")
        out.writerow(["feature", "unit", "form", "low", "high", "mean", "scale", *CAUSES])
        out.writerow(["", "", "constant", "", "", "", "", *(f"{value:.5g}" for value in model.fitted.intercept_)])
        for place, name in enumerate(LOGS + LINEAR):
            form = "logarithm" if name in LOGS else "value"
            range_of = (model.low[place], model.high[place], model.mean[place], model.scale[place])
            out.writerow([name, units[name], form, *(f"{value:.5g}" for value in (*range_of, *weights[:, place]))])
            if np.isnan(values[:, place]).any():
                out.writerow([name, units[name], "unknown", "", "", "", "", *(f"{value:.5g}" for value in weights[:, count + place])])


main()
