"""Captures: read and judged (`reader`), written (`writer`), as an experiment (`experiment`), beside simulations (`compare`).

    import longfat.capture

    found = longfat.capture.read("transfer.pcapng.zst")
    for connection in found.connections:
        print(connection.source, connection.data.goodput_bps, connection.verdict.cause)
    packets = longfat.capture.packets("transfer.pcapng.zst", 0)   # as the table `packets` of a run

`docs/captures-reference.md` says what each value is.
"""

from longfat._longfat import Capture, Connection
from longfat.capture.compare import comparison
from longfat.capture.reader import packets, read, write_experiment, write_page
from longfat.capture.writer import write_capture

__all__ = ["Capture", "Connection", "comparison", "packets", "read", "write_capture", "write_experiment", "write_page"]
