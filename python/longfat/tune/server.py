"""The report of `longfat serve --check`: this host as a server, and its throughput over loopback. It has no address unless asked."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import platform
import re
import resource
import tempfile
from pathlib import Path
from typing import Any

from longfat._longfat import __version__
from longfat.experiment import Experiment
from longfat.live.serving import serving
from longfat.tune.host import DEVICE, Host, UnreadableError

SECONDS = 5
"""Duration of each direction over loopback."""
SYSCTLS = (
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.optmem_max",
    "net.core.netdev_max_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_slow_start_after_idle",
)
LIMITS = """[open]
rate = "0 bit/s"
udp_rate = "1 Mbit/s"
bytes = "4 TB"
key_bytes_per_hour = "16 TB"
network_bytes_per_hour = "16 TB"
bytes_per_hour = "16 TB"
"""
"""Limits of the server that the check starts: loopback has no bound."""
FEATURES = re.compile(r"(?m)^((?:tcp|generic)-segmentation-offload|(?:generic|large)-receive-offload|rx-gro-hw): (\S+)")


def check(host: Host, *, addresses: bool = False) -> dict[str, Any]:
    """Facts of this host, and a measurement over loopback. A value that cannot be read is null."""
    return {
        "longfat": __version__,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "cpu": _found(r"^model name\s*: (.*)$", _text(host, "/proc/cpuinfo")),
        "clock": _text(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "memory": _found(r"^MemTotal:\s*(.*)$", _text(host, "/proc/meminfo")),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[0],
        "sysctl": {name: _text(host, "/proc/sys/" + name.replace(".", "/")) for name in SYSCTLS},
        "interfaces": [interface(host, name, addresses=addresses) for name in _names(host)],
        "loopback": loopback(),
    }


def interface(host: Host, name: str, *, addresses: bool) -> dict[str, Any]:
    """Facts of a network card."""
    folder = f"/sys/class/net/{name}"
    stamps = _command(host, "ethtool", "-T", name)
    shown: dict[str, Any] = {
        "name": name,
        "driver": _found(r"^driver: (.*)$", _command(host, "ethtool", "-i", name)),
        "state": _text(host, f"{folder}/operstate"),
        "speed_mbps": _text(host, f"{folder}/speed"),
        "mtu_bytes": _text(host, f"{folder}/mtu"),
        "numa_node": _text(host, f"{folder}/device/numa_node"),
        "queues": len(host.names(f"{folder}/queues")),
        "qdisc": _found(r"^qdisc (\S+)", _command(host, "tc", "qdisc", "show", "dev", name)),
        "offloads": dict(FEATURES.findall(_command(host, "ethtool", "-k", name) or "")) or None,
        "rings": _found(r"(?s)Current hardware settings:.*?^RX:\s*(\d+)", _command(host, "ethtool", "-g", name)),
        "stamps": None if stamps is None else sorted(set(re.findall(r"(?:hardware|software)-(?:transmit|receive)", stamps))),
    }
    if addresses:
        shown["addresses"] = re.findall(r"inet6? (\S+)", _command(host, "ip", "addr", "show", "dev", name) or "")
    return shown


def loopback() -> dict[str, Any]:
    """Throughput of one flow each way between this process and a server of its own, and how punctual its probes are."""
    with tempfile.TemporaryDirectory() as folder:
        limits = Path(folder) / "limits.toml"
        limits.write_text(LIMITS, encoding="utf-8")
        with serving("--open", "--limits", str(limits)) as server:
            found = {direction: _direction(server.at, server.process.pid, direction) for direction in ("up", "down")}
    return {"unconfined": next((line for line in server.said if "Landlock" in line), None), **found}


def _direction(at: str, pid: int, direction: str) -> dict[str, Any]:
    ends = ("here", "there") if direction == "up" else ("there", "here")
    file = f"""
        backend = "live"
        live.host = [{{ name = "here", at = "local" }}, {{ name = "there", at = "{at}" }}]
        flow = [{{ name = "flow", stack = "linux", from = "{ends[0]}", to = "{ends[1]}" }}]
        measure = {{ duration = "{SECONDS} s", warmup = "1 s", interval = "100 ms" }}
    """
    experiment = Experiment(file)
    before = _cpu_s(pid)
    result = experiment.run()
    used = _cpu_s(pid) - before
    flow = result.flows.iloc[0]
    late = result.probes["timer_error_s"].dropna()
    quantiles = {f"timer_error_p{100 * share:.0f}_us": round(1e6 * float(late.quantile(share)), 1) for share in (0.5, 0.99) if len(late)}
    return {
        "goodput_gbps": round(float(flow["goodput_bps"]) / 1e9, 3),
        "control": str(flow["congestion_control"]),
        "cpu_s": round(used, 2),
        "gbit_per_cpu_s": round(8e-9 * float(flow["bytes_delivered"]) / used, 2) if used else None,
        **quantiles,
        "probes": len(result.probes),
        "probes_unstamped": result.real_time["probes_unstamped"],
        "verdict": result.verdict,
        "reasons": [warning.text for warning in result.warnings if warning.name in ("suspect", "invalid")],
    }


def _cpu_s(pid: int) -> float:
    """CPU time of this process and of the server so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    own = resource.getrusage(resource.RUSAGE_SELF)
    # utime and stime are the fields 14 and 15 (proc(5)), and the third is the first after the name.
    return own.ru_utime + own.ru_stime + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _names(host: Host) -> list[str]:
    """Interfaces that are cards, also virtual ones of a virtual machine."""
    return [name for name in host.names("/sys/class/net") if DEVICE.fullmatch(name) and host.names(f"/sys/class/net/{name}/device")]


def _text(host: Host, path: str) -> str | None:
    try:
        return host.text(path).strip()
    except UnreadableError:
        return None


def _command(host: Host, *words: str) -> str | None:
    try:
        return host.command(*words)
    except UnreadableError:
        return None


def _found(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "", re.MULTILINE)
    return found[1].strip() if found else None
