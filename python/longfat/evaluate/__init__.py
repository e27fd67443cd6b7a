"""Evaluation: what RFC 9743 asks of a congestion control, answered by runs.

One file per concept: what is asked (`criteria`, a line each, with an experiment in `experiments/`), what is measured (`measures`), how a
number becomes a word (`rules`), the runs (`probe`, `control`), and how a card is shown (`show`, `page`).
"""

from longfat.evaluate.control import Card, evaluate_control

__all__ = ["Card", "evaluate_control"]
