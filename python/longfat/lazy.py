"""Libraries that take long to import: each is imported when the first thing of it is used.

A help text or an error in a file needs none of them. `from longfat.lazy import np` stands in the place of `import numpy as np`.
Threads may ask at once: `import_module` holds the lock of the module (Python documentation, importlib).
"""

# pyarrow comes without types.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import multiprocessing

    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.fs as pafs
    import pyarrow.parquet as pq

__all__ = ["multiprocessing", "np", "pa", "pafs", "pd", "pq"]


class _Lazy:
    """A module that is imported when the first of its names is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    multiprocessing = _Lazy("multiprocessing")
    np = _Lazy("numpy")
    pa = _Lazy("pyarrow")
    pafs = _Lazy("pyarrow.fs")
    pd = _Lazy("pandas")
    pq = _Lazy("pyarrow.parquet")
