"""`longfat cc`: the controls for the kernel. What loads one is skipped where that is not allowed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from longfat._longfat import HAS_BPF, cc_list
from longfat.cc import app
from longfat.errors import LongfatError
from typer.testing import CliRunner, Result

PINNED = Path("/sys/fs/bpf/longfat")


def cc(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_list_says_what_there_is_and_what_there_could_be() -> None:
    shown = cc("list").output
    assert "of longfat, not loaded" in shown
    assert "lf_highspeed" in shown
    assert ("built without BPF" in shown) is not HAS_BPF
    assert all(len(name) < 16 for name, whose in cc_list() if whose != "kernel")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["load", "westwod"], "no control of the BPF set is called `westwod`; did you mean `westwood`?"),
        (["unload", "cubic"], "no control of the BPF set is called `cubic`"),
        (["load", "fast", "--set", "alpha"], "--set alpha: write PARAM=VALUE"),
    ],
)
def test_what_is_wrong_is_one_message(arguments: list[str], message: str) -> None:
    with pytest.raises(LongfatError) as error:
        cc(*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.skipif(HAS_BPF, reason="built with BPF")
def test_without_bpf_it_says_what_it_needs() -> None:
    with pytest.raises(LongfatError, match="built without BPF: needs clang and libelf"):
        cc("load", "fast")


@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_loads_and_unloads() -> None:
    try:
        loaded = cc("load", "compound", "--set", "gamma=20")
    except LongfatError as error:
        if not any(words in str(error) for words in ("needs CAP_", "has no /sys/kernel/btf", "is loaded already")):
            raise
        pytest.skip(str(error))
    try:
        assert "lf_compound is loaded" in loaded.output
        assert ("lf_compound", "loaded") in cc_list()
        with socket.socket() as one:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lf_compound")
            with pytest.raises(LongfatError, match="lf_compound is still in use: 1 connection or default has it"):
                cc("unload", "compound")
        with pytest.raises(LongfatError, match="lf_compound is loaded already"):
            cc("load", "compound")
    finally:
        assert "lf_compound is unloaded" in cc("unload", "compound").output
    assert not (PINNED / "lf_compound").exists()
    with pytest.raises(LongfatError, match="lf_compound is not loaded"):
        cc("unload", "compound")
