"""Hashes of runs, many of them: a set that takes 32 bytes for each, as a sweep may be of a million."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING

from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 32
FORM = f"S{BYTES}"
AT_ONCE = 10_000
"""Hashes that are text at a time."""


class Hashes(Set[str]):
    """A set of hashes, each a text of 64 hexadecimal digits, that is held as a sorted array of 32 bytes each. It never changes."""

    def __init__(self, digests: NDArray[np.bytes_]) -> None:
        """Wraps digests that are sorted, each once."""
        self.digests = digests

    @classmethod
    def of(cls, hashes: Iterable[str]) -> Hashes:
        """Makes a set of these hashes. A text that is no hash is left out: no run has it."""
        if isinstance(hashes, Hashes):
            return hashes
        return cls.joined([np.frombuffer(b"".join(filter(None, map(_digest, hashes))), FORM)])

    @classmethod
    def joined(cls, parts: Iterable[NDArray[np.bytes_]]) -> Hashes:
        """Makes a set of all digests in these arrays."""
        digests = np.concatenate([np.empty(0, FORM), *parts])
        digests.sort(kind="stable")  # fast where parts of it are sorted
        again = digests[1:] == digests[:-1]
        return cls(digests[np.r_[True, ~again]] if again.any() else digests)

    _from_iterable = of

    def __len__(self) -> int:
        return len(self.digests)

    def __iter__(self) -> Iterator[str]:
        return in_hexadecimal(self.digests)

    def __contains__(self, run: object) -> bool:
        return isinstance(run, str) and self.place(run) is not None

    def place(self, run: str) -> int | None:
        """Index of a hash among the sorted ones; None where it is not there."""
        digest = np.frombuffer(_digest(run), FORM)
        at = int(np.searchsorted(self.digests, digest)[0]) if len(digest) else len(self)
        return at if at < len(self) and self.digests[at] == digest[0] else None

    def among(self, digests: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """True for each of these digests that is in the set."""
        found = np.zeros(len(digests), np.bool_)
        if len(self):
            order = np.argsort(digests, kind="stable")  # a search in order is several times as fast
            wanted = digests[order]
            found[order] = self.digests.take(np.searchsorted(self.digests, wanted), mode="clip") == wanted
        return found

    def __and__(self, other: Iterable[str]) -> Hashes:
        return Hashes(self.digests[Hashes.of(other).among(self.digests)])

    __rand__ = __and__

    def __sub__(self, other: Iterable[str]) -> Hashes:
        return Hashes(self.digests[~Hashes.of(other).among(self.digests)])

    def __or__(self, other: Iterable[str]) -> Hashes:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Hashes.joined([self.digests, Hashes.of(other).digests])

    __ror__ = __or__


def digests_of(text: bytes) -> NDArray[np.bytes_]:
    """The digests of hashes of which one stands after the other. ValueError where they are none."""
    return np.frombuffer(unhexlify(text), FORM)


def in_hexadecimal(digests: NDArray[np.bytes_]) -> Iterator[str]:
    """Digests as hashes."""
    for start in range(0, len(digests), AT_ONCE):
        text = digests[start : start + AT_ONCE].tobytes().hex()
        yield from (text[at : at + 2 * BYTES] for at in range(0, len(text), 2 * BYTES))


def _digest(run: str) -> bytes:
    """The digest of a hash; empty of what is none."""
    try:
        digest = bytes.fromhex(run)
    except ValueError:
        return b""
    return digest if len(digest) == BYTES and digest.hex() == run else b""
