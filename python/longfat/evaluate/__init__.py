"""Evaluation: what RFC 9743 asks of a congestion control and its start, and RFC 7928 of a queue, answered by runs.

One file per concept: what is asked (`controls`, `queues`, `startups`: a line each, with an experiment in `experiments/`), what is measured
(`measures`), how a number becomes a word (`rules`), the runs (`probe`, `card`), and how a card is shown (`show`, `page`).
"""

from longfat.evaluate.card import Card, evaluate_control, evaluate_queue, evaluate_startup

__all__ = ["Card", "evaluate_control", "evaluate_queue", "evaluate_startup"]
