"""Versions of the layout of results, which `docs/results.md` describes."""

FORMAT_VERSION = 5
"""What this longfat writes, and the newest it reads."""
WITH_TRACES = 3
"""The first format whose runs are stored as traces; before, they were tables with the metrics of their time."""
WITH_SUMS = 4
"""The first format with `SHA256SUMS`."""
BEFORE = 2
"""The results version of runs that do not say theirs."""
