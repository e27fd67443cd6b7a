"""Congestion controls written in Python, and whether they do what every control must."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from types import CodeType, FunctionType
from typing import TypeVar, overload

from longfat._longfat import conformance_checks, register_control
from longfat.errors import LongfatError

C = TypeVar("C", bound=type)


@dataclass(frozen=True, kw_only=True)
class Promises:
    """Claims of a congestion control of your own, which `conformance` checks: the class attribute `promises`.

        promises = longfat.Promises(uses=0.95, queue_segments=(2, 6), beside_cubic=(0, 0.4))

    A claim that is `None` is not made. Raises LongfatError for a value out of its range.
    """

    uses: float = 0.5
    """Least share of an empty path that one flow uses, from 0.5 to 1."""
    queue_segments: tuple[float, float] | None = None
    """Least and greatest mean queue of one flow alone, in segments."""
    queue_bdp: tuple[float, float] | None = None
    """Bounds of the queue in bandwidth-delay products; the buffer holds 1."""
    shares: float | None = None
    """Least fairness index (Jain, Chiu and Hawe 1984) of two flows, the second a second later; from 0.5 to 1."""
    beside_cubic: tuple[float, float] | None = None
    """Least and greatest share of what one flow and one of CUBIC get, from 0 to 1."""

    def __post_init__(self) -> None:
        for name, claim in _CLAIMS.items():
            value: object = getattr(self, name)
            if value is not None and claim.bounds(value) is None:
                raise LongfatError(f"Promises: {name} = {value!r}: expected {claim.expected}")

    def claims(self) -> list[tuple[str, float, float]]:
        """The claims that are made: name, least and greatest value."""
        bounds = {name: claim.bounds(getattr(self, name)) for name, claim in _CLAIMS.items()}
        return [(name, *pair) for name, pair in bounds.items() if pair is not None]


@dataclass(frozen=True)
class _Claim:
    """The values that a claim can have, and in words."""

    least: float
    most: float
    is_pair: bool
    expected: str

    def bounds(self, value: object) -> tuple[float, float] | None:
        """Least and greatest value that `value` allows; None if it is no such claim."""
        match value:
            case (int() | float() as least, int() | float() as most) if self.is_pair and self.least <= least <= most <= self.most:
                return float(least), float(most)
            case int() | float() if not self.is_pair and self.least <= value <= self.most:
                return float(value), self.most
            case _:
                return None


_CLAIMS = {
    "uses": _Claim(0.5, 1.0, False, "a share from 0.5 to 1"),
    "queue_segments": _Claim(0.0, inf, True, "two numbers of segments, the smaller first"),
    "queue_bdp": _Claim(0.0, 1.0, True, "two numbers from 0 to 1, the smaller first"),
    "shares": _Claim(0.5, 1.0, False, "an index from 0.5 to 1"),
    "beside_cubic": _Claim(0.0, 1.0, True, "two shares from 0 to 1, the smaller first"),
}


@overload
def congestion_control(cls: C, /) -> C: ...
@overload
def congestion_control(*, name: str) -> Callable[[C], C]: ...
def congestion_control(cls: C | None = None, /, *, name: str | None = None) -> C | Callable[[C], C]:
    """Makes a class a congestion control that experiments know by name, for as long as the program runs.

        @longfat.congestion_control
        class Gentle:
            def on_ack(self, ack): ...
            def on_congestion(self, event): ...

    It is called by its class name in small letters (`gentle`, `TwoWords` is `two_words`), or `name`. Each connection has an object of
    it, whose `window` is a `longfat.Window`; hooks are `on_ack(ack)` and `on_congestion(event)`, and if there are such
    `on_sample(ack)`, `on_established(seed)`, `on_recovered(now)`, `on_spurious()`, `on_restart(idle)`, `on_syn_loss()`. An attribute
    `pacing_rate` is read after each (bits per second or None); `wants_rate = True` asks for `ack.delivery_rate`; with
    `steers_itself = True` the window holds in recovery, too. `promises` says what the class claims of itself (`Promises`).

    A hash of the source of the class, and of those it is derived from, is part of the identity of a run (functions elsewhere
    that it calls are not). Raises LongfatError for a name that longfat has, or a class without these
    two hooks.
    """
    if cls is None:
        return lambda cls: _register(cls, name or _name(cls))
    return _register(cls, name or _name(cls))


def _register(cls: C, name: str) -> C:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise LongfatError(f"`{name}` cannot be a congestion control's name: expected small letters, digits and underscores")
    for hook in ("on_ack", "on_congestion"):
        if not callable(getattr(cls, hook, None)):
            raise LongfatError(
                f"{cls.__name__} has no method `{hook}`: every congestion control needs on_ack(self, ack) and on_congestion(self, event)"
            )
    summary = (inspect.getdoc(cls) or f"{cls.__name__}, in Python").splitlines()[0].rstrip(".")
    promises = getattr(cls, "promises", Promises())
    if not isinstance(promises, Promises):
        raise LongfatError(f"{cls.__name__}.promises = {promises!r}: expected longfat.Promises(...)")
    register_control(name, summary, f"Python, sha256 {digest(cls)}", cls, promises.claims())
    cls.congestion_control = name  # type: ignore[attr-defined]
    return cls


def digest(cls: type) -> str:
    """A hash of what the class and those it is derived from are made of: their source, or where there is none, compiled code.

    A class with numbers from a file has their hash in its attribute `identity`, which counts as well.
    """
    parts = [_made_of(base) for base in cls.__mro__ if base is not object]
    identity = getattr(cls, "identity", None)
    if isinstance(identity, str):
        parts.append(identity.encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _made_of(cls: type) -> bytes:
    try:
        return inspect.cleandoc(inspect.getsource(cls)).encode()
    except (OSError, TypeError):
        members = sorted(
            (name, member) for name, member in vars(cls).items() if not name.startswith("__") or isinstance(member, FunctionType)
        )
        return repr(
            [(name, _code(member.__code__) if isinstance(member, FunctionType) else repr(member)) for name, member in members]
        ).encode()


def _code(code: CodeType) -> list[object]:
    """Returns what compiled code does, without its place in the file."""
    consts = [_code(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, consts]


def _name(cls: type) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True)
class Promise:
    """A rule that every congestion control must keep, or a claim of its own, and whether it does."""

    name: str
    """The rule, in words."""
    kept: bool
    """True if the control keeps it."""
    why: str
    """The fault, with the control's name; empty where the rule is kept."""
    measured: str = ""
    """The result of the run that checked it ("97.7 %"); empty for rules that need no run."""


def conformance(control: type | str) -> list[Promise]:
    """Checks `control`, a class or a name, against the rules that the tests of longfat apply to its own controls, and its `Promises`.

        assert all(promise.kept for promise in longfat.conformance(Gentle))

    The rules are checked call by call. Then runs show one flow alone, two flows, and one beside CUBIC (20 Mbit/s, 40 ms, a buffer of one
    BDP). A control that uses less than half of an empty path fails, whatever it promises. Raises LongfatError for a name that is none, and
    whatever a hook raises.
    """
    name = control if isinstance(control, str) else getattr(control, "congestion_control", None)
    if name is None:
        raise LongfatError(f"{control} is no congestion control: decorate it with @longfat.congestion_control")
    return [Promise(check, why is None, why or "", measured) for check, measured, why in conformance_checks(name)]
