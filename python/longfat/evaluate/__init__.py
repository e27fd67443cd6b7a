"""Evaluation: what RFC 9743 asks of a congestion control and its start, and RFC 7928 of a queue, answered by runs.

One file per concept: what is asked (`controls`, `tcpeval`, `queues`, `startups`: a line each, with an experiment in `experiments/`), what
is measured (`measures`), how a number becomes a word (`rules`), the runs (`probe`, `card`), the search for the worst path (`worst`), and
how a card is shown (`show`, `page`).
"""

from longfat.evaluate.card import Card, evaluate_control, evaluate_queue, evaluate_startup
from longfat.evaluate.worst import Worst, worst_path, worst_path_of_queue, worst_path_of_startup

__all__ = [
    "Card",
    "Worst",
    "evaluate_control",
    "evaluate_queue",
    "evaluate_startup",
    "worst_path",
    "worst_path_of_queue",
    "worst_path_of_startup",
]
