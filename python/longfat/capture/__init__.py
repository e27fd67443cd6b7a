"""Captures: read and judged (`reader`), written (`writer`), as an experiment (`experiment`), beside simulations (`compare`).

    import longfat.capture

    found = longfat.capture.read("transfer.pcapng.zst")
    for connection in found["connections"]:
        print(connection["from"], connection["data"]["goodput_bps"], connection["retransmitted"])
    packets = longfat.capture.packets("transfer.pcapng.zst", 0)   # as the table `packets` of a run

`docs/captures.md` says what each value is.
"""

from longfat.capture.compare import beside
from longfat.capture.reader import packets, read, write_experiment, write_page
from longfat.capture.writer import write_capture

__all__ = ["beside", "packets", "read", "write_capture", "write_experiment", "write_page"]
