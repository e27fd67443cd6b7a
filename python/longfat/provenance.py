"""Where results come from: the code, the machine, the experiment."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any

from longfat._longfat import CODE, COMMIT, __version__


def provenance(**facts: Any) -> dict[str, Any]:
    """Facts of the code and the machine, with `facts` about this sweep."""
    uname = platform.uname()
    return {
        "longfat": {"version": __version__, "commit": COMMIT, "code": CODE},
        "backend": "sim",
        "host": {
            "system": uname.system,
            "kernel": uname.release,
            "machine": uname.machine,
            "cpu": _cpu(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
    }


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        return ""
