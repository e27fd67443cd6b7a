"""Buffers: room for two bandwidth-delay products of this path at each end, and the memory for them."""

from __future__ import annotations

from longfat.advice.linux import IP_SYSCTL, NET_SYSCTL, receive_buffer, send_buffer
from longfat.plot.units import with_unit
from longfat.tune.check import Check, Found, change, fine
from longfat.tune.host import Host, UnreadableError
from longfat.tune.setting import of_sysctl, sysctl_path
from longfat.tune.target import Target

ESNET_LINUX = "https://fasterdata.es.net/host-tuning/linux/"
ZEROCOPY = "https://docs.kernel.org/networking/msg_zerocopy.html"
OPTMEM = 1 << 20
"""Bytes of ancillary memory of a socket that sends by MSG_ZEROCOPY (ESnet, Linux tuning)."""
ZEROCOPY_RATE = 10e9
"""Rate in bit/s from which programs send by MSG_ZEROCOPY: below, a copy costs little."""


def _autotuned(host: Host, check: Check, name: str, wanted: int) -> Found:
    least, initial, most = host.integers(sysctl_path(name), 3)
    if most >= wanted:
        return fine(with_unit(most, "iB", 3))
    setting = of_sysctl(name, f"{least} {initial} {wanted}", check.why, check.source)
    return change(with_unit(most, "iB", 3), with_unit(wanted, "iB", 3), setting, knob=(most, wanted))


def _receive(host: Host, target: Target, check: Check) -> Found:
    return _autotuned(host, check, "net.ipv4.tcp_rmem", receive_buffer(target.window))


def _send(host: Host, target: Target, check: Check) -> Found:
    return _autotuned(host, check, "net.ipv4.tcp_wmem", send_buffer(target.window))


def _core(host: Host, target: Target, check: Check) -> Found:
    wanted = {"net.core.rmem_max": receive_buffer(target.window), "net.core.wmem_max": send_buffer(target.window)}
    now = {name: host.integer(sysctl_path(name)) for name in wanted}
    said = ", ".join(with_unit(value, "iB", 3) for value in now.values())
    short = [of_sysctl(name, str(value), check.why, check.source) for name, value in wanted.items() if now[name] < value]
    return change(said, ", ".join(with_unit(value, "iB", 3) for value in wanted.values()), *short) if short else fine(said)


def _memory(host: Host, target: Target, check: Check) -> Found:
    least, pressure, most = host.integers(sysctl_path("net.ipv4.tcp_mem"), 3)
    page = 4096 if host.root.as_posix() != "/" else _page()
    need = -(-(receive_buffer(target.window) + send_buffer(target.window)) // page)
    said = with_unit(pressure * page, "iB", 3)
    if pressure >= need:
        return fine(said)
    total = _total(host) // page
    wanted = f"{max(least, need * 3 // 4)} {need} {max(most, need * 3 // 2)}"
    if need * 3 // 2 > total // 2:
        raise UnreadableError(f"{said} of memory before pressure, and the host has too little for more: {with_unit(total * page, 'iB', 3)}")
    return change(said, with_unit(need * page, "iB", 3), of_sysctl("net.ipv4.tcp_mem", wanted, check.why, check.source))


def _page() -> int:
    import resource

    return resource.getpagesize()


def _total(host: Host) -> int:
    for line in host.text("/proc/meminfo").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "MemTotal:" and words[1].isdecimal() and len(words[1]) < 19:
            return 1024 * int(words[1])
    raise UnreadableError("/proc/meminfo: expected a line with MemTotal")


def _optmem(host: Host, target: Target, check: Check) -> Found:
    now = host.integer(sysctl_path("net.core.optmem_max"))
    said = with_unit(now, "iB", 3)
    if now >= OPTMEM or target.question.rate < ZEROCOPY_RATE:
        return fine(said)
    return change(said, with_unit(OPTMEM, "iB", 3), of_sysctl("net.core.optmem_max", str(OPTMEM), check.why, check.source))


RECEIVE = Check(
    "receive buffer",
    "net.ipv4.tcp_rmem",
    "4 BDP",
    "two BDP in flight, and as little as half of a buffer is data",
    IP_SYSCTL,
    _receive,
    knob="receive buffer",
)
SEND = Check(
    "send buffer",
    "net.ipv4.tcp_wmem",
    "3 BDP",
    "two BDP in flight, and a writer that waits is woken when a third is free",
    IP_SYSCTL,
    _send,
    knob="send buffer",
)
CORE = Check(
    "most by setsockopt",
    "net.core.rmem_max, net.core.wmem_max",
    "as the two buffers",
    "programs that set their buffers themselves get no more",
    NET_SYSCTL,
    _core,
)
MEMORY = Check(
    "memory of TCP",
    "net.ipv4.tcp_mem",
    "both buffers of one flow below pressure",
    "above the middle value TCP holds back its buffers",
    IP_SYSCTL,
    _memory,
)
ANCILLARY = Check(
    "ancillary memory",
    "net.core.optmem_max",
    "1 MiB from 10 Gbit/s",
    "MSG_ZEROCOPY keeps its notifications there, and fails with ENOBUFS",
    f"{ESNET_LINUX}, {ZEROCOPY}",
    _optmem,
)
