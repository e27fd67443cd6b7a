"""Results in memory: a run (`result`), a sweep (`results`), and what is computed from them."""

from longfat.results.result import Result
from longfat.results.results import Results

__all__ = ["Result", "Results"]
