"""Probes of paths that are known: a queue worked out by hand, packet by packet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from longfat.theory.probe import Probe, probe


@dataclass
class Path:
    """A burst of packets of `size` bytes at rate `fed`, through a queue of `memory` bytes before a line of `rate` (bit/s of payload)."""

    fed: float = 1e9
    rate: float = 622e6
    memory: float = 500e3
    size: float = 1000.0
    packets: int = 5000
    block: tuple[int, int] | None = None
    """Packets lost at the receiver: of those that came to it, the place of the first, and how many."""
    hole: tuple[int, int] = (0, 0)
    """Packets lost before the queue: the number of the first, and how many."""
    jitter: float = 0.0
    """Standard deviation of the times at the receiver, in s."""
    coalesce: float = 0.0
    """The receiver's clock stamps all that came within this time with its end, in s."""

    def arrivals(self, seed: int = 1) -> tuple[list[int], list[float]]:
        rng = np.random.default_rng(seed)
        gap, service = 8 * self.size / self.fed, 8 * self.size / self.rate
        free, numbers, times = 0.0, [], []
        for number in range(self.packets):
            now = number * gap
            if self.hole[0] <= number < sum(self.hole):
                continue
            waiting = max(0.0, free - now) * self.rate / 8
            if waiting + self.size > self.memory + self.size:
                continue
            free = max(free, now) + service
            numbers.append(number)
            times.append(free)
        keep = np.ones(len(numbers), dtype=bool)
        if self.block:
            keep[self.block[0] : self.block[0] + self.block[1]] = False
        time = np.array(times)[keep] + rng.normal(0, self.jitter, int(keep.sum())) if self.jitter else np.array(times)[keep]
        if self.coalesce:
            time = np.ceil(time / self.coalesce) * self.coalesce
        return np.array(numbers)[keep].tolist(), np.maximum.accumulate(time).tolist()

    def probe(self, seed: int = 1) -> Probe:
        return probe(*self.arrivals(seed), size=self.size, sent=self.packets)


def test_the_burst_of_figure_2() -> None:
    # 1 Gb/s into 622 Mb/s, 5000 packets of 1000 bytes, about 150 of which are lost at the receiver far on in the burst.
    found = Path(block=(3000, 150)).probe()
    assert found.rate_bps.value == pytest.approx(622e6, rel=1e-6)
    assert found.input_bps is not None
    assert found.memory_bytes is not None
    assert found.input_bps.value == pytest.approx(1e9, rel=0.01)
    assert found.memory_bytes.value == pytest.approx(500e3, rel=0.02)
    assert found.memory_bytes.low < 500e3 < found.memory_bytes.high
    assert found.lost_at("receiver") == pytest.approx(150, abs=2)
    assert found.lost_at("network") + found.lost_at("receiver") == found.lost == 5000 - found.received
    assert [loss.where for loss in found.losses if loss.packets > 3] == ["receiver"]
    assert "at the receiver" in str(found)
    assert "622 Mbit/s" in str(found)


def test_a_path_without_a_bottleneck_loses_nothing_and_has_the_rate_of_the_burst() -> None:
    found = Path(rate=1e9, fed=0.5e9).probe()
    assert (found.lost, found.input_bps, found.memory_bytes, found.losses) == (0, None, None, ())
    assert found.rate_bps.value == pytest.approx(0.5e9, rel=1e-6)


def test_a_slow_receiver_alone_is_told_from_a_full_queue() -> None:
    found = Path(rate=1e9, block=(2000, 150)).probe()
    assert [(loss.first, loss.packets, loss.where) for loss in found.losses] == [(2000, 150, "receiver")]
    assert found.memory_bytes is None


@pytest.mark.parametrize(("jitter", "coalesce"), [(0.0, 0.0), (5e-6, 0.0), (0.0, 100e-6), (3e-6, 60e-6)])
def test_the_intervals_cover_the_truth(jitter: float, coalesce: float) -> None:
    rng = np.random.default_rng(7)
    covered = {"rate": 0, "input": 0, "memory": 0}
    rounds, right, judged = 12, 0, 0
    for seed in range(rounds):
        rate = float(rng.uniform(0.3e9, 0.9e9))
        memory = float(rng.uniform(1e5, 0.6e6))
        path = Path(rate=rate, memory=memory, packets=8_000, block=(int(rng.integers(2000, 2300)), 150), jitter=jitter, coalesce=coalesce)
        found = path.probe(seed)
        assert found.input_bps is not None
        assert found.memory_bytes is not None
        for name, estimate, truth in (
            ("rate", found.rate_bps, rate),
            ("input", found.input_bps, 1e9),
            ("memory", found.memory_bytes, memory),
        ):
            covered[name] += estimate.low <= truth <= estimate.high
            assert estimate.value == pytest.approx(truth, rel=0.05), name
        blocks = [loss for loss in found.losses if loss.packets >= 100]
        # The last packet of the burst has no neighbour behind it.
        alone = [loss for loss in found.losses if loss.packets <= 3 and loss.first + loss.packets < path.packets]
        right += sum(loss.where == "receiver" for loss in blocks) + sum(loss.where == "network" for loss in alone)
        judged += len(blocks) + len(alone)
    assert right >= 0.999 * judged
    assert all(count >= 0.8 * rounds for count in covered.values()), covered


def test_a_block_without_a_gap_is_told_by_what_follows() -> None:
    # A receiver slower than the bottleneck spaces what arrives, so that what it loses leaves no gap; the bottleneck stays full meanwhile.
    numbers, times = Path().arrivals()
    kept = [number for number in numbers if not 3000 <= number < 3300]
    found = probe(kept, times[: len(kept)], size=1000, sent=5000)
    assert [loss.where for loss in found.losses if loss.packets > 3] == ["receiver"]
    # The bottleneck had lost 38 % of the 300 itself.
    assert found.lost_at("receiver") == pytest.approx(300 * 0.622, abs=2)
    assert found.memory_bytes is not None
    assert found.memory_bytes.value == pytest.approx(500e3, rel=0.02)
    # Lost before the bottleneck, whose queue goes on sending meanwhile: no gap either, but then it has room.
    numbers, times = Path(hole=(3000, 300)).arrivals()
    found = probe(numbers, times, size=1000, sent=5000)
    assert [loss.where for loss in found.losses if loss.packets > 3] == ["unknown"]
    # And where the burst ends before the bottleneck could have lost anything.
    kept = [number for number in numbers if number < 3400]
    found = probe(kept, times[: len(kept)], size=1000, sent=3400)
    assert [loss.where for loss in found.losses if loss.packets > 3] == ["unknown"]


def test_what_says_nothing_is_refused() -> None:
    numbers, times = Path(packets=100).arrivals()
    with pytest.raises(ValueError, match="one time for each packet"):
        probe(numbers, times[:-1], size=1000)
    with pytest.raises(ValueError, match="too few"):
        probe(numbers[:9], times[:9], size=1000)
    with pytest.raises(ValueError, match="backwards"):
        probe(numbers, times[::-1], size=1000)
    with pytest.raises(ValueError, match="overtook"):
        probe(numbers[::-1], times, size=1000)
    with pytest.raises(ValueError, match="numbered from 0"):
        probe(numbers, times, size=1000, sent=50)
    with pytest.raises(ValueError, match="too coarse"):
        probe(numbers, [1.0] * len(times), size=1000)
    with pytest.raises(ValueError, match="size"):
        probe(numbers, times, size=0)
