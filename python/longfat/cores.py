"""The cores that there are."""

from __future__ import annotations

import os


def default_jobs() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
