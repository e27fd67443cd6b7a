"""Cores, memory and kernel below the network interface."""

from __future__ import annotations

import re

from longfat.advice.linux import Line
from longfat.tune.check import Check, Found, by_hand, change, fine
from longfat.tune.host import Host, UnreadableError, cpus
from longfat.tune.setting import of_file
from longfat.tune.target import Target

IRQ_AFFINITY = "https://docs.kernel.org/core-api/irq/irq-affinity.html"
SCALING = "https://docs.kernel.org/networking/scaling.html"
CPUFREQ = "https://docs.kernel.org/admin-guide/pm/cpufreq.html"
PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
VERSIONS = "docs/linux-versions.md"
CPUS = "/sys/devices/system/cpu"
FAST = 40e9
"""Rate in bit/s from which the translation of DMA addresses shows (ESnet, 100G tuning)."""
NEWER = (
    ((4, 9), "BBR"),
    ((4, 13), "TCP's own pacing"),
    ((5, 1), "BBR's room for aggregated ACKs"),
    ((5, 6), "HyStart for paced flows"),
    ((6, 6), "a receive buffer that counts what segments take"),
)
"""Kernels and what they brought: docs/linux-versions.md, and ip-sysctl of these versions."""


def _irqs(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    home = f"/sys/class/net/{device}/device"
    node = host.integer(f"{home}/numa_node")
    if node < 0 or len([name for name in host.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]) < 2:
        return fine("one NUMA node")
    near = cpus(host.text(f"/sys/devices/system/node/node{node}/cpulist"))
    numbers = [name for name in host.names(f"{home}/msi_irqs") if name.isascii() and name.isdecimal() and len(name) < 6]
    if not numbers or not near:
        raise UnreadableError(f"{home}/msi_irqs has no interrupts")
    places = {number: cpus(host.text(f"/proc/irq/{number}/smp_affinity_list")) for number in numbers}
    far = [number for number in numbers if not places[number] & near]
    if not far:
        return fine(f"{len(numbers)} on node {node}")
    wanted = host.text(f"/sys/devices/system/node/node{node}/cpulist").strip()
    settings = [
        of_file(
            f"interrupt {number}", path, wanted, Line(f"echo {wanted} > {path}", f"{check.why}; irqbalance may move it again", check.source)
        )
        for number in far
        for path in [f"/proc/irq/{number}/smp_affinity_list"]
    ]
    return change(f"{len(far)} of {len(numbers)} on another node", f"node {node}", *settings)


def _governor(host: Host, target: Target, check: Check) -> Found:
    del target
    cores = [name for name in host.names(CPUS) if re.fullmatch(r"cpu[0-9]{1,5}", name, re.ASCII)]
    paths = [f"{CPUS}/{core}/cpufreq/scaling_governor" for core in sorted(cores, key=lambda core: int(core[3:]))]
    now: dict[str, str] = {}
    for path in paths:
        try:
            now[path] = host.text(path).strip()
        except UnreadableError:
            continue
    if not now:
        raise UnreadableError("no cpufreq: a virtual machine, or a fixed clock")
    slow = [path for path, governor in now.items() if governor != "performance"]
    if not slow:
        return fine("performance")
    names = sorted({now[path] for path in slow})
    if not all(re.fullmatch(r"[a-z_]{1,16}", name) for name in names):
        raise UnreadableError(f"{slow[0]}: {now[slow[0]][:20]!r} is no governor")
    settings = [
        of_file(f"governor of {path.split('/')[5]}", path, "performance", Line(f"echo performance > {path}", check.why, check.source))
        for path in slow
    ]
    return change(", ".join(names), "performance", *settings)


def _iommu(host: Host, target: Target, check: Check) -> Found:
    kind = ""
    if host.names("/sys/kernel/iommu_groups"):
        kind = host.text(f"/sys/class/net/{target.route.device}/device/iommu_group/type").strip()[:12]
    if not kind:
        return fine("none")
    if kind == "identity" or target.question.rate < FAST:
        return fine(kind)
    return by_hand(kind, "identity", Line("iommu=pt", f"{check.why}; a parameter of the kernel, from the next boot on", check.source))


def _kernel(host: Host, target: Target, check: Check) -> Found:
    del target
    release = host.text("/proc/sys/kernel/osrelease").strip()
    version = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release, re.ASCII)
    if not version:
        raise UnreadableError(f"/proc/sys/kernel/osrelease: {release[:20]!r} is no version")
    own = (int(version[1]), int(version[2]))
    lacks = [what for since, what in NEWER if own < since]
    said = f"{own[0]}.{own[1]}"
    if not lacks:
        return fine(said)
    newest = NEWER[-1][0]
    line = Line(f"Linux {newest[0]}.{newest[1]} or later", f"this kernel lacks {'; '.join(lacks)}", check.source)
    return by_hand(said, f"{newest[0]}.{newest[1]}", line)


IRQS = Check(
    "interrupts",
    "/proc/irq/*/smp_affinity_list, NUMA node of the device",
    "cores of the device's node",
    "a packet that crosses to the other node's memory costs more",
    f"{IRQ_AFFINITY}, {SCALING}",
    _irqs,
)
GOVERNOR = Check("governor", "scaling_governor", "performance", "cores that clock up late drop bursts", CPUFREQ, _governor)
IOMMU = Check(
    "IOMMU",
    "type of the device's iommu_group",
    "identity from 40 Gbit/s",
    "the IOMMU maps and unmaps each packet's memory",
    PARAMETERS,
    _iommu,
)
KERNEL = Check("kernel", "/proc/sys/kernel/osrelease", "6.6 or later", "later kernels size buffers for longer paths", VERSIONS, _kernel)
