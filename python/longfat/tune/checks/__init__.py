"""The registry of checks: one row each, in the order of the table."""

from longfat.tune.check import Check
from longfat.tune.checks import buffers, control, device, flags, processor, route

CHECKS: tuple[Check, ...] = (
    buffers.RECEIVE,
    buffers.SEND,
    buffers.CORE,
    buffers.MEMORY,
    buffers.ANCILLARY,
    control.CONTROL,
    control.QDISC,
    control.ALLOWED,
    *flags.FLAGS,
    route.METRICS,
    route.SAVED,
    route.MTU_PROBING,
    device.RINGS,
    device.COALESCING,
    device.OFFLOADS_ON,
    device.PAUSE,
    processor.IRQS,
    processor.GOVERNOR,
    processor.IOMMU,
    processor.KERNEL,
)

__all__ = ["CHECKS"]
