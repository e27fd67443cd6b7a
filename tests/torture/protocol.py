"""The protocol between two hosts: messages, frames and datagrams of others, damaged, reordered, repeated and lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

from longfat._longfat import live_attack

INPUTS = {"states": 1_000_000}
"""Inputs of an attack in a case; of all others OTHERS. A process of `make torture` runs ten cases: 10^7 messages to the state machines."""
OTHERS = 100_000


def attack(random: Random, folder: Path) -> None:
    """Every attack on the protocol, with a seed of its own."""
    del folder
    for name in live_attack():
        live_attack(name, random.getrandbits(63), INPUTS.get(name, OTHERS))
