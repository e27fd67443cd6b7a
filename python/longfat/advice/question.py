"""The question: a path, and what is not known of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from longfat._longfat import quantity, registries
from longfat.errors import LongfatError

UNKNOWN = "unknown"
INTERFACES = (1e9, 10e9, 25e9, 40e9, 100e9, 200e9, 400e9, 800e9, 1600e9)
"""Rates of Ethernet interfaces (IEEE 802.3)."""
HEADERS = 52
"""IPv4 and TCP with timestamps."""


@dataclass(frozen=True)
class Question:
    """The path as asked. Rates in bit/s (of IP packets: the links add no framing), times in seconds, sizes in bytes."""

    rate: float
    rtt: float
    mtu: int = 1500
    buffer: str | None = None
    """Buffer of the bottleneck, as the experiment file has it (`64 MiB`, `0.5 bdp`); None where it is not known."""
    loss: float | None = None
    """Probability that the path loses a packet; None where it is not known."""
    streams: int | None = None
    """Number of streams; None: whatever is best."""
    rivals: tuple[int, str] | None = None
    """Number of flows that compete all the time, and their control; None where it is not known."""
    edge: float = 0.0
    """Rate of the hosts' interfaces."""
    duration: float | None = None
    """Duration of each run, s; None: as long as the time allows."""
    thorough: bool = False
    """True if it may take eight times as long, with three seeds where packets are lost at random."""

    @property
    def bdp(self) -> float:
        """Bytes of IP that fill the path."""
        return self.rate * self.rtt / 8

    @property
    def payload(self) -> float:
        """The most payload that the path carries, bit/s."""
        return self.rate * (self.mtu - HEADERS) / self.mtu


def read(
    rate: str,
    rtt: str,
    *,
    mtu: int | str = 1500,
    buffer: str = UNKNOWN,
    loss: float | str = UNKNOWN,
    streams: int | None = None,
    competing: str = UNKNOWN,
    edge: str | None = None,
    duration: str | None = None,
    thorough: bool = False,
) -> Question:
    """The question in the words of the experiment file. Raises LongfatError for what is no such word."""
    bits = _rate("rate", rate)
    if not 1e5 <= bits <= 1e12:
        raise LongfatError(f"rate {rate}: expected from 100 kbit/s to 1 Tbit/s")
    round_trip = _quantity("rtt", rtt, "s", "a time such as 150ms" + (f"; write {rtt.strip()}ms" if _is_number(rtt) else ""))
    if not 1e-4 <= round_trip <= 10:
        raise LongfatError(f"rtt {rtt}: expected from 100 us to 10 s")
    size = int(_quantity("mtu", str(mtu), "bytes", "a size such as 9000", bare=True))
    if not 576 <= size <= 65535:
        raise LongfatError(f"mtu {mtu}: expected from 576 to 65535 bytes")
    if streams is not None and not 1 <= streams <= 1000:
        raise LongfatError(f"streams {streams}: expected from 1 to 1000")
    if buffer != UNKNOWN and _of(buffer, "bytes", "bdp", "packets") is None:
        raise LongfatError(f"buffer {buffer}: expected a size such as 64MiB, '0.5 bdp', '1000 packets', or unknown{_bytes(buffer)}")
    fastest = _rate("edge", edge) if edge else _interface(bits)
    length = _quantity("duration", duration, "s", "a time such as 60s") if duration else None
    if length is not None and not 20 * round_trip <= length <= 100_000:
        raise LongfatError(f"duration {duration}: expected at least twenty round trips, and at most 100000 s")
    known = None if buffer == UNKNOWN else buffer
    return Question(bits, round_trip, size, known, _loss(loss), streams, _rivals(competing), fastest, length, thorough)


def _loss(loss: float | str) -> float | None:
    if loss == UNKNOWN:
        return None
    try:
        share = float(loss)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise LongfatError(f"loss {loss}: expected a probability such as 1e-6, or unknown")
    return share


def _rivals(competing: str) -> tuple[int, str] | None:
    if competing == UNKNOWN:
        return None
    if competing == "none":
        return 0, "cubic"
    many, _, control = competing.rpartition(" ")
    known = [entry["name"] for entry in registries()["congestion_controls"]]
    if control not in known or (many and not many.isdigit()) or not 1 <= int(many or 1) <= 1000:
        raise LongfatError(f"competing {competing}: expected none, unknown, a congestion control such as cubic, or several: '4 cubic'")
    return int(many or 1), control


def _interface(rate: float) -> float:
    """The next faster one: a host's interface is seldom as slow as the path, and then there is no bottleneck to ask about."""
    return next((one for one in INTERFACES if one > rate), 4 * rate)


def _of(text: str, *units: str) -> float | None:
    found = quantity(text)
    return found[0] if found and found[1] in units and found[0] > 0 else None


RATE = re.compile(r"\s*([0-9.]+)\s*([kKMGT])(?:bps|b/s|bits/s|bit|b)?\s*", re.ASCII)
"""Rates as people say them: `100G`, `100Gbps`, `100 Gb/s`. A prefix is of 1000."""


def _rate(name: str, text: str) -> float:
    """Reads a rate in bit/s, as the experiment file has it or as people say it. Raises LongfatError."""
    spoken = RATE.fullmatch(text)
    written = f"{spoken[1]} {spoken[2].replace('K', 'k')}bit/s" if spoken else text
    value = _of(written, "bps")
    if value is None:
        raise LongfatError(
            f"{name} {text}: expected a rate such as 10Gbit/s" + (f"; write {text.strip()}Mbit/s" if _is_number(text) else "")
        )
    return value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[0-9.]+\s*", text) is not None


def _bytes(text: str) -> str:
    """Says how to write `16M`, which may be of 1000 or of 1024."""
    short = re.fullmatch(r"\s*([0-9.]+)\s*([kKMG])i?\s*", text)
    if not short:
        return ""
    return f"; write {short[1]}{short[2].upper()}iB (of 1024) or {short[1]}{short[2].replace('K', 'k')}B (of 1000)"


def _quantity(name: str, text: str, unit: str, expected: str, *, bare: bool = False) -> float:
    value = _of(text, unit, "number") if bare else _of(text, unit)
    if value is None:
        raise LongfatError(f"{name} {text}: expected {expected}")
    return value
