"""Provenance of results: the code, the backend, the machine, the experiment."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from longfat._longfat import CODE, COMMIT, RESULTS_VERSION, __version__
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfat._longfat import Run


def of_run(run: Run) -> dict[str, Any]:
    """Describes the code, backend and machine that have just made a run."""
    # A run in real time is made by the machine, too.
    machine = {"kernel": platform.release(), "cpu": _cpu(), "cpus": str(os.cpu_count())} if run.is_real_time else {}
    return {"results_version": RESULTS_VERSION, "backend": run.backend, "longfat": _longfat() | machine, "finished": _now()}


def _longfat() -> dict[str, str]:
    return {"version": __version__, "commit": COMMIT, "code": CODE}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def provenance(**facts: Any) -> dict[str, Any]:
    """Facts of the code and the machine, with `facts` about this sweep."""
    uname = platform.uname()
    return {
        "longfat": _longfat(),
        "results_version": RESULTS_VERSION,
        "host": {
            "system": uname.system,
            "kernel": uname.release,
            "machine": uname.machine,
            "cpu": _cpu(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "finished": _now(),
        **facts,
    }


def spans(numbers: NDArray[np.uint64]) -> list[int | str]:
    """Sorted numbers, with `3..7` for three and more in a row: a sweep may have a million seeds."""
    made: list[int | str] = []
    for part in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
        made += [f"{part[0]}..{part[-1]}"] if len(part) > 2 else part.tolist()
    return made


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        return ""
