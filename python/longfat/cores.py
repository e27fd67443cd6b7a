"""The cores that there are."""

from __future__ import annotations

import os


def default_jobs() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
