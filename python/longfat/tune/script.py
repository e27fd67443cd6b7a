"""`apply.sh` and `revert.sh`: both may be run again, and what was there is saved before anything changes."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from longfat.errors import LongfatError
from longfat.store.files import reason
from longfat.tune.check import Row, State
from longfat.tune.setting import Setting

HOME = Path("/var/lib/longfat/tune")
"""Folder of the scripts of `--apply` and `--revert`, unless `--script` names one."""
BEFORE, SINCE = "before", "since"
"""Folder of the values that were there, and its file that says on which boot and in which network namespace."""
NOW = 'now="$(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/net)"'

HEAD = """#!/bin/sh
# {title}
# Written by `longfat tune`. Values that were there are in the folder `before`.
set -uf
export LC_ALL=C
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
[ "$(id -u)" = 0 ] || {{ echo "$0 needs root" >&2; exit 1; }}
before=$here/before
{now}
failed=0

"""
PUT = """
same() { [ "$(printf '%s\\n' $1 | sort)" = "$(printf '%s\\n' $2 | sort)" ]; }

put() { # number, name, value
    if "write_$1" "$3"; then
        found=$("read_$1") || found=$3
        same "$found" "$3" && { printf '%s: %s\\n' "$2" "$3"; return; }
        printf '%s: asked for %s, the kernel has %s\\n' "$2" "$3" "$found" >&2
    else
        printf '%s: not changed to %s\\n' "$2" "$3" >&2
    fi
    failed=1
}
"""
APPLY = """
# Values from before a reboot, or of another network namespace, are not those of now.
[ "$(cat "$before/since" 2>/dev/null)" = "$now" ] || rm -rf -- "$before"
mkdir -p -- "$before" && printf '%s\\n' "$now" >"$before/since" || exit 1

save() { # number
    [ -e "$before/$1" ] && return
    "read_$1" >"$before/$1.part" && [ -s "$before/$1.part" ] && mv -- "$before/$1.part" "$before/$1"
}

change() { # number, name, value
    if [ -e "$before/$1" ]; then put "$1" "$2" "$3"; else printf '%s: cannot be read, left alone\\n' "$2" >&2; failed=1; fi
}
"""
REVERT = """
[ -d "$before" ] || { echo "nothing to revert"; exit 0; }
if [ "$(cat "$before/since" 2>/dev/null)" != "$now" ]; then
    echo "rebooted, or in another network namespace, since apply.sh ran: nothing to revert"
    rm -rf -- "$before"
    exit 0
fi

back() { # number, name
    [ -e "$before/$1" ] && put "$1" "$2" "$(cat "$before/$1")"
}
"""


def settings_of(rows: Sequence[Row]) -> list[Setting]:
    """Every setting that a script can make, in the order of the checks."""
    return [setting for row in rows if row.found.state is State.CHANGE for setting in row.found.settings]


def apply_text(settings: Sequence[Setting], title: str) -> str:
    """The text of `apply.sh`."""
    saved = [f"save {number}" for number, one in enumerate(settings, 1) if one.read]
    steps = [
        f"change {number} {shlex.quote(one.name)} {shlex.quote(one.value)}"
        if one.read
        else f"write_{number} {shlex.quote(one.value)} || failed=1"
        for number, one in enumerate(settings, 1)
    ]
    return _text(title, settings, APPLY, [*saved, "", *steps, "exit $failed"])


def revert_text(settings: Sequence[Setting], title: str) -> str:
    """The text of `revert.sh`. The order is that of `apply.sh`: a qdisc comes back as the default, which is given back first."""
    steps = [f"back {number} {shlex.quote(one.name)}" for number, one in enumerate(settings, 1) if one.read]
    return _text(f"Reverts: {title}", settings, REVERT, [*steps, '[ $failed = 1 ] || rm -rf -- "$before"', "exit $failed"])


def _text(title: str, settings: Sequence[Setting], start: str, steps: Sequence[str]) -> str:
    functions: list[str] = []
    for number, one in enumerate(settings, 1):
        functions += [f"read_{number}() {{ {one.read}; }}"] if one.read else []
        functions += [f"write_{number}() {{ {one.write}; }}"]
    # A comment must stay on its line.
    head = HEAD.format(title=" ".join(title.split()), now=NOW)
    return head + "\n".join(functions) + "\n" + PUT + start + "\n" + "\n".join(steps) + "\n"


def write(folder: Path, settings: Sequence[Setting], title: str) -> None:
    """Writes both scripts. LongfatError where their folder holds the values before changes that are in force."""
    if in_force(folder):
        raise LongfatError(
            f"{folder} holds what was there before changes that are in force: run {folder / 'revert.sh'} first, or name another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("apply.sh", apply_text(settings, title)), ("revert.sh", revert_text(settings, title))):
            file = folder / name
            file.write_text(text, encoding="utf-8")
            file.chmod(0o755)
    except OSError as error:
        raise LongfatError(f"cannot write the scripts to {folder}: {reason(error)}") from None


def in_force(folder: Path) -> bool:
    """True if `apply.sh` of this folder ran since the last boot, in this network namespace."""
    try:
        since = (folder / BEFORE / SINCE).read_text(encoding="utf-8", errors="replace").strip()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return since == f"{boot} {Path('/proc/self/ns/net').readlink()}"
    except OSError:
        return False


def check_root(option: str) -> None:
    """LongfatError unless this process is root's."""
    if os.geteuid() != 0:
        raise LongfatError(
            f"--{option} changes this host and needs root: sudo longfat tune ... (without root, --script DIR writes the scripts)"
        )


def run(folder: Path, name: str, *, quiet: bool = False) -> bool:
    """Runs one of the scripts; true if all of it succeeded. LongfatError without root, or without the script."""
    check_root(name.removesuffix(".sh"))
    file = folder / name
    if not file.is_file():
        raise LongfatError(f"there is no {file}: `longfat tune --apply` or `--script` writes it")
    return subprocess.run(["/bin/sh", str(file)], stdout=subprocess.DEVNULL if quiet else None, check=False).returncode == 0


def run_quietly(folder: Path, name: str) -> bool:
    """`run` that shows only what went wrong."""
    return run(folder, name, quiet=True)
