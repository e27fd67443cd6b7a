"""The question: a path, and what is not known of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from longfat._longfat import quantity, registries
from longfat.errors import LongfatError
from longfat.plot.units import with_unit

UNKNOWN = "unknown"
INTERFACES = (1e9, 10e9, 25e9, 40e9, 100e9, 200e9, 400e9, 800e9, 1600e9)
"""Rates of Ethernet interfaces (IEEE 802.3)."""
HEADERS = 52
"""IPv4 and TCP with timestamps."""
SITES = 8
"""Most sites of a question."""


@dataclass(frozen=True)
class Question:
    """The path as asked. Rates in bit/s (of IP packets: the links add no framing), times in seconds, sizes in bytes."""

    rate: float
    rtts: tuple[float, ...]
    """Base round-trip times of the sites that share the bottleneck; one site where there is one."""
    mtu: int = 1500
    buffers: tuple[str, ...] | None = None
    """Buffers of the bottleneck, as the experiment file has them (`64 MiB`, `0.5 bdp`); None where they are not known."""
    losses: tuple[tuple[str, float], ...] | None = None
    """When (a name, or nothing) and with what probability the path loses a packet; None where it is not known."""
    streams: int | None = None
    """Number of streams; None: whatever is best."""
    rivals: tuple[int, str] | None = None
    """Number of flows that compete all the time, and their control; None where it is not known."""
    load: float = 0.0
    """Share of the bottleneck that short transfers of others use on average."""
    policer: tuple[float, float] | None = None
    """Rate in bit/s and burst in bytes of a token bucket that drops what exceeds it; None without one."""
    target: tuple[float, float] | None = None
    """Bytes of payload to transfer, and the seconds in which they must arrive; None where there is no target."""
    edge: float = 0.0
    """Rate of the hosts' interfaces."""
    duration: float | None = None
    """Duration of each run, s; None: as long as controls and losses need, and the packets allow."""
    thorough: bool = False
    """True if it may take eight times as long, with more seeds."""
    told: tuple[str, ...] = ()
    """Sentences on where the path comes from."""

    @property
    def rtt(self) -> float:
        """The longest base round-trip time."""
        return max(self.rtts)

    @property
    def carried(self) -> float:
        """Rate of IP packets that the path carries for long: that of the link, or of the policer."""
        return self.policer[0] if self.policer else self.rate

    @property
    def bdp(self) -> float:
        """Bytes of IP that fill the path."""
        return self.carried * self.rtt / 8

    @property
    def payload(self) -> float:
        """The most payload that the path carries, bit/s."""
        return self.carried * (self.mtu - HEADERS) / self.mtu

    @property
    def due(self) -> float:
        """The most payload that the site which gets least can have, bit/s."""
        return self.payload / len(self.rtts)

    @property
    def needed(self) -> float:
        """Payload rate that the target needs, bit/s; 0 without one."""
        return 8 * self.target[0] / self.target[1] if self.target else 0.0


def read(
    rate: str,
    rtt: str,
    *,
    mtu: int | str = 1500,
    buffer: str = UNKNOWN,
    loss: float | str = UNKNOWN,
    streams: int | None = None,
    competing: str = UNKNOWN,
    load: float | str | None = None,
    policer: str | None = None,
    burst: str | None = None,
    transfer: str | None = None,
    within: str | None = None,
    edge: str | None = None,
    duration: str | None = None,
    thorough: bool = False,
    told: Sequence[str] = (),
) -> Question:
    """The question in the words of the experiment file. Raises LongfatError for what is no such word."""
    bits = _rate("rate", rate)
    if not 1e5 <= bits <= 1e12:
        raise LongfatError(f"rate {rate}: expected from 100 kbit/s to 1 Tbit/s")
    round_trips = tuple(_round_trip(part) for part in rtt.split(","))
    if len(round_trips) > SITES:
        raise LongfatError(f"rtt {rtt}: expected at most {SITES} sites")
    size = int(_quantity("mtu", str(mtu), "bytes", "a size such as 9000", bare=True))
    if not 576 <= size <= 65535:
        raise LongfatError(f"mtu {mtu}: expected from 576 to 65535 bytes")
    if streams is not None and not 1 <= streams <= 1000:
        raise LongfatError(f"streams {streams}: expected from 1 to 1000")
    buffers = None if buffer == UNKNOWN else tuple(dict.fromkeys(part.strip() for part in buffer.split(",")))
    for one in buffers or ():
        if _of(one, "bytes", "bdp", "packets") is None:
            raise LongfatError(f"buffer {one}: expected a size such as 64MiB, '0.5 bdp', '1000 packets', or unknown{_bytes(one)}")
    fastest = _rate("edge", edge) if edge else _interface(bits)
    length = _quantity("duration", duration, "s", "a time such as 60s") if duration else None
    if length is not None and not 20 * max(round_trips) <= length <= 100_000:
        raise LongfatError(f"duration {duration}: expected at least twenty round trips, and at most 100000 s")
    part = _load(load)
    if part and competing == UNKNOWN:
        competing = "none"
    made = Question(
        bits,
        round_trips,
        size,
        buffers,
        _losses(loss),
        streams,
        _rivals(competing),
        part,
        _policer(policer, burst, bits, size),
        _target(transfer, within),
        fastest,
        length,
        thorough,
        tuple(told),
    )
    if made.needed > made.payload:
        assert made.target
        raise LongfatError(
            f"transfer {transfer} within {within}: that takes {with_unit(made.needed, 'bit/s')} of payload, and the path carries "
            f"{with_unit(made.payload, 'bit/s')}: expected at least {spoken(8 * made.target[0] / made.payload)}"
        )
    return made


def _round_trip(rtt: str) -> float:
    value = _quantity("rtt", rtt, "s", "a time such as 150ms" + (f"; write {rtt.strip()}ms" if _is_number(rtt) else ""))
    if not 1e-4 <= value <= 10:
        raise LongfatError(f"rtt {rtt}: expected from 100 us to 10 s")
    return value


LOSS = re.compile(r"\s*(?:(.*\S)\s+)?([0-9.]+(?:e-?[0-9]+)?)\s*(%?)\s*", re.IGNORECASE)
"""A probability of loss with the words before it that say when: `1e-6`, `at night 1e-4`, `0.1 %`."""


def _losses(loss: float | str) -> tuple[tuple[str, float], ...] | None:
    if loss == UNKNOWN:
        return None
    made: list[tuple[str, float]] = []
    for part in str(loss).split(","):
        found = LOSS.fullmatch(part)
        try:
            share = float(found[2]) / (100 if found[3] else 1) if found else -1.0
        except ValueError:
            share = -1.0
        if not found or not 0 <= share < 1:
            raise LongfatError(f"loss {part.strip()}: expected a probability such as 1e-6, several (0,'at night 1e-4'), or unknown")
        made.append((found[1] or "", share))
    if len(set(made)) < len(made):
        raise LongfatError(f"loss {loss}: expected each probability once")
    return tuple(made)


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


def _load(load: float | str | None) -> float:
    """Share of the bottleneck that others use."""
    if load is None:
        return 0.0
    text = str(load).strip()
    number = text.removesuffix("%").strip()
    share = float(number) / (100 if text.endswith("%") else 1) if _is_number(number) and number.count(".") < 2 else math.nan
    if not 0 < share < 1:
        raise LongfatError(f"load {load}: expected a share of the bottleneck between 0 and 1, such as 0.5")
    return share


def _policer(policer: str | None, burst: str | None, rate: float, mtu: int) -> tuple[float, float] | None:
    if policer is None:
        if burst is not None:
            raise LongfatError(f"burst {burst}: expected with a policer's rate: --policer 2Gbit/s --burst {burst}")
        return None
    own = _rate("policer", policer)
    if burst is None:
        raise LongfatError(f"policer {policer}: expected with its burst: --policer {policer} --burst 50MB")
    if not 1e5 <= own < rate:
        raise LongfatError(f"policer {policer}: expected at least 100 kbit/s and less than the rate of the link")
    size = _of(burst, "bytes")
    if size is None or size < mtu:
        raise LongfatError(f"burst {burst}: expected a size of at least {mtu} bytes, such as 50MB{_bytes(burst)}")
    return own, size


def _target(transfer: str | None, within: str | None) -> tuple[float, float] | None:
    if transfer is None and within is None:
        return None
    if transfer is None or within is None:
        raise LongfatError("a target is a size and a time: --transfer 5TB --within 4h")
    size = _of(transfer, "bytes")
    if size is None:
        raise LongfatError(f"transfer {transfer}: expected a size such as 5TB{_bytes(transfer)}")
    return size, _quantity("within", within, "s", "a time such as 4h or 30min")


def spoken(seconds: float) -> str:
    """A time as people say it: `4.2 h`, `12 min`, `30 s`; rounded up."""
    size, word = next(((size, word) for size, word in ((86400, "days"), (3600, "h"), (60, "min")) if seconds >= 2 * size), (1, "s"))
    return f"{math.ceil(round(10 * seconds / size, 6)) / 10:g} {word}"


def probability(share: float) -> str:
    """A probability as people write it: `0.01`, `1e-4`."""
    if not 0 < share < 1e-3:
        return f"{share:g}"
    mantissa, exponent = f"{share:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


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
    short = re.fullmatch(r"\s*([0-9.]+)\s*([kKMGT])i?\s*", text)
    if not short:
        return ""
    return f"; write {short[1]}{short[2].upper()}iB (of 1024) or {short[1]}{short[2].replace('K', 'k')}B (of 1000)"


def _quantity(name: str, text: str, unit: str, expected: str, *, bare: bool = False) -> float:
    value = _of(text, unit, "number") if bare else _of(text, unit)
    if value is None:
        raise LongfatError(f"{name} {text}: expected {expected}")
    return value
