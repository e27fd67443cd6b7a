"""The command `longfat serve`: the other end of measurements between two hosts."""

from __future__ import annotations

import json
import sysconfig
import tomllib
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import longfat
from longfat._longfat import live_port, quantity
from longfat.errors import LongfatError
from longfat.live import server

UNITS = {
    "seconds": ("s", "1 h"),
    "bytes": ("bytes", "1 GB"),
    "rate": ("bps", "1 Gbit/s"),
    "udp_rate": ("bps", "1 Mbit/s"),
    "survey_bytes": ("bytes", "20 MB"),
    "key_bytes_per_hour": ("bytes", "10 GB"),
    "network_bytes_per_hour": ("bytes", "10 GB"),
    "bytes_per_hour": ("bytes", "10 GB"),
}
"""Unit of each limit that has one, and an example."""


def serve_command(
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="NAME", help="Key of clients that may measure; repeatable. See `longfat key`.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Let everybody measure, within small limits.")] = False,
    limits: Annotated[Path | None, typer.Option(metavar="FILE", help="File of limits, in TOML: see docs/live-server.md.")] = None,
    bind: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address to listen at. Default: all, of IPv4 and IPv6.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at, for control and data; 0: any.")] = live_port(),
    concurrent: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Sessions at the same time: they share the path.")] = 1,
    capture: Annotated[
        bool,
        typer.Option("--capture", help="Capture the headers of a session's own TCP flows if its client asks; needs CAP_NET_RAW and a key."),
    ] = False,
    stamp: Annotated[
        int | None,
        typer.Option("--stamp", min=1, max=65535, metavar="PORT", help="UDP port at which to answer STAMP (RFC 8762); needs --from."),
    ] = None,
    from_: Annotated[
        list[str] | None, typer.Option("--from", metavar="PREFIX", help="Addresses that STAMP answers, such as 192.0.2.0/24; repeatable.")
    ] = None,
    stamp_rate: Annotated[int, typer.Option("--stamp-rate", min=1, max=1_000_000, help="STAMP packets per second, of all senders.")] = 1000,
    check: Annotated[bool, typer.Option("--check", help="Print facts of this host and its throughput over loopback; then end.")] = False,
    addresses: Annotated[bool, typer.Option("--addresses", help="With --check: print addresses, too.")] = False,
) -> None:
    """Let other hosts measure the path to this one; Ctrl-C ends it."""
    if addresses and not check:
        raise LongfatError("--addresses: goes with --check alone")
    if check:
        # A server that waits needs none of it.
        from longfat.tune import server as host
        from longfat.tune.host import Host

        print(json.dumps(host.check(Host(), addresses=addresses), indent=2))
        return
    if (stamp is None) != (not from_):
        raise LongfatError("--stamp PORT and --from PREFIX: each needs the other, so that no stranger uses this host to send packets")
    of_keys, of_open = read_limits(limits) if limits else ({}, {})
    options: dict[str, str | int] = {
        "limits": json.dumps(of_keys),
        "open_limits": json.dumps(of_open),
        "port": port,
        "concurrent": concurrent,
    }
    if bind:
        options["bind"] = bind
    if open_:
        options["open"] = 1
    if capture:
        options["capture"] = 1
    if stamp:
        options |= {"stamp": stamp, "stamp_rate": stamp_rate}
    many = [
        *(f"key={name}" for name in key or []),
        *(f"from={prefix}" for prefix in from_ or []),
        *(f"read={file}" for file in own_files()),
    ]
    server.become([*(f"{name}={value}" for name, value in options.items()), *many])


def own_files() -> list[str]:
    """Files that the process may still read: Python, its packages, and the time zone."""
    code = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return [*sorted(code), str(Path(longfat.__file__).parent), "/etc/localtime", "/usr/share/zoneinfo"]


def read_limits(file: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Limits of sessions with a key, and of those without: bytes, seconds, bit/s and counts. LongfatError names what is wrong."""
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text())
    except OSError as error:
        raise LongfatError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LongfatError(f"{file} is not TOML: {error}") from None
    of_open = table.pop("open", {})
    if not isinstance(of_open, dict):
        raise LongfatError(f"{file}: `open` must be a table, the limits of sessions without a key")
    return _whole(file, table), _whole(file, cast("dict[str, Any]", of_open))


def _whole(file: Path, table: dict[str, Any]) -> dict[str, int]:
    return {name: _number(file, name, value) for name, value in table.items()}


def _number(file: Path, name: str, value: object) -> int:
    unit, example = UNITS.get(name, ("number", ""))
    if unit == "number":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise LongfatError(f"{file}: `{name}` must be a whole number, and is {value!r}")
    found = quantity(value) if isinstance(value, str) else None
    if found is None or found[1] != unit:
        raise LongfatError(f'{file}: `{name}` must be a quantity such as "{example}", and is {value!r}')
    return round(found[0])
