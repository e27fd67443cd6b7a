"""What `claims.csv`, the numbers and the figures speak of, from our results.

Rates are Mb/s of payload, windows are packets, memory is bytes of IP. A round is a base round trip since the first data was sent. The first
one is round 0, in which one packet leaves.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from statistics import mean
from typing import Any

import longfat.paper
import pandas as pd
from longfat import theory
from longfat.paper import MissingResults
from longfat.results.result import Result
from longfat.theory.probe import Probe, probe

# The channel as the paper names it; what it and Gigabit Ethernet leave for the payload of full TCP segments, 1448 of 1528 and of 1538
# bytes, at 599.04 and 1000 Mb/s of frames.
CHANNEL = 622
CHANNEL_PAYLOAD = 599.04 * 1448 / 1528
FAST_PAYLOAD = 1000 * 1448 / 1538
MEMORY = 500_000
MSS = 1448
RTT = 0.096
# What the paper sends with UDPmon.
SENT, SIZE = 5000, 1028
# Where the flow of each name is.
STREAMS = {
    "upgraded": "upgraded-stall",
    "upgraded free": "upgraded-free",
    "receiver": "upgraded-receiver",
    "paced host": "cure-slow-host",
    "paced": "cure-nic",
    "pause": "cure-pause",
    "red": "cure-red",
}
RTTS = {0: "100 us", 20: "20 ms", 96: "96 ms", 150: "150 ms"}
SENDERS = {"fast": "0 cycles", "slow": "24000 cycles"}
RECEIVERS = {"slow": "15700 cycles", "fast": "12560 cycles"}
ARRIVED, SENT_EVENT = "delivered", "sent"


def share(cases: Iterable[bool]) -> float:
    """Of the cases, those in which it is so."""
    return mean(float(case) for case in cases)


def payload(rate_mbps: float) -> float:
    """What is left of a rate of packets of 1500 bytes for TCP's payload."""
    return rate_mbps * MSS / 1500


class Cells(longfat.paper.Cells):
    """Flows and bursts."""

    # One TCP flow

    def stream(self, of: float | str) -> float:
        """Goodput of one flow over a round trip of so many ms, or of the experiment of this name."""
        rows = self.rows(STREAMS[of]) if isinstance(of, str) else self.rows("rtt", rtt=RTTS[int(of)])
        return float(rows["goodput_total_bps"].mean()) / 1e6

    def drops(self, of: str) -> float:
        """Packets dropped anywhere."""
        return float(self.rows(STREAMS[of], "flows")["packets_dropped"].sum())

    def first_drop_is(self, reason: str, rtt: int) -> float:
        """Whether the first drop of the flow over this round trip was for this reason: 1 or 0."""
        events = self.run("rtt", rtt=RTTS[rtt]).events
        dropped = events[events["kind"].str.startswith("dropped")]
        if dropped.empty:
            return nan
        return float(dropped.iloc[0]["kind"] == f"dropped_{reason}")

    # Slow start, packet by packet

    def run(self, stem: str, **where: Any) -> Result:
        """The run of an experiment in which the axes have these labels."""
        return self.measured[stem].open(str(self.rows(stem, **where)["run"].iloc[0]))

    def packets(self, stem: str, **where: Any) -> pd.DataFrame:
        """What happened to each packet of a run."""
        return self.run(stem, **where).packets

    def data(self, stem: str, event: str, **where: Any) -> pd.DataFrame:
        """What happened to packets with data, sent by the flow's sender."""
        packets = self.packets(stem, **where)
        of_sender = (packets["direction"] == "forward") & (packets["len_bytes"] > 0)
        return packets[of_sender & packets["event"].str.startswith(event)]

    def rounds(self, event: str = SENT_EVENT, sender: str = "fast") -> pd.Series:
        """Packets of each round of `slow-start`."""
        start = self.data("slow-start", SENT_EVENT, send_packet=SENDERS[sender])["time_s"].iloc[0]
        times = self.data("slow-start", event, send_packet=SENDERS[sender])["time_s"]
        return ((times - start) // RTT).astype(int).value_counts().sort_index()

    def window(self, number: int) -> float:
        """Packets that leave in the round of this number."""
        return float(self.rounds().get(number, 0))

    def departures(self, number: int) -> list[float]:
        """When each packet of this round comes to the switch, in s."""
        sent = self.data("slow-start", SENT_EVENT, send_packet=SENDERS["fast"])
        start = sent["time_s"].iloc[0]
        offsets = set(sent[((sent["time_s"] - start) // RTT).astype(int) == number]["seq_bytes"])
        came = self.data("slow-start", "queued", send_packet=SENDERS["fast"])
        # The bottleneck is link 0, as everywhere in a dumbbell.
        return sorted(came[(came["link"] == 0) & came["seq_bytes"].isin(offsets)]["time_s"])

    def lost_in_round(self, number: int) -> float:
        """Of the packets of this round, those dropped: none is seen for longer than the way to the switch."""
        return float(self.rounds("dropped").get(number, 0))

    def slow_host_losses(self) -> float:
        """Packets lost by a sender slower than the channel."""
        return float(self.rows("slow-start", "flows", send_packet=SENDERS["slow"])["packets_dropped"].sum())

    # The cures and the puzzle

    def cure(self, stem: str) -> tuple[float, ...]:
        """Goodput, share of the channel, packets dropped, seconds in which packets were held or the number of stalls."""
        flow = self.rows(stem, "flows").iloc[0]
        goodput = float(self.rows(stem)["goodput_total_bps"].iloc[0]) / 1e6
        held = float(self.rows(stem, "links")["held_s"].sum())
        return goodput, 100 * goodput / CHANNEL_PAYLOAD, float(flow["packets_dropped"]), held

    def suspect(self, name: str) -> tuple[float, ...]:
        """Goodput over a minute, packets dropped, segments retransmitted and send stalls then; cwnd after 2.5 s, in packets."""
        flow = self.rows(f"upgraded-{name}", "flows").iloc[0]
        early = self.run(f"figure6-{name}").flow_series
        cwnd = float(early["cwnd_bytes"].iloc[-1]) / MSS
        goodput = float(self.rows(f"upgraded-{name}")["goodput_total_bps"].iloc[0]) / 1e6
        again = float(flow["segments_retransmitted"])
        return goodput, float(flow["packets_dropped"]), again, float(flow["send_stalls"]), cwnd

    # Bursts of UDP

    def _burst(self, gap: str, receiver: str = "slow", stem: str = "") -> dict[str, Any]:
        """Where the burst of this name is: `0 us` through the switch; the others, and both directions, without it."""
        if gap.startswith("to "):
            return {"stem": "gaps", "gap": "0 us", "receive_packet": RECEIVERS[gap.removeprefix("to ")]}
        if stem == "burst":
            return {"stem": "burst", "receive_packet": RECEIVERS["slow"] if receiver == "slow" else "1000 cycles"}
        return {"stem": "gaps", "gap": gap, "receive_packet": RECEIVERS[receiver]}

    def arrivals(self, gap: str, receiver: str = "slow", stem: str = "burst") -> pd.DataFrame:
        """Number and time of each packet that came."""
        packets = self.packets(**self._burst(gap, receiver, stem))
        return packets[packets["event"] == ARRIVED][["seq_bytes", "time_s"]].rename(columns={"seq_bytes": "number"})

    def missing(self, gap: str, receiver: str = "slow", stem: str = "burst") -> list[int]:
        """The numbers that did not come."""
        return sorted(set(range(SENT)) - set(self.arrivals(gap, receiver, stem)["number"].astype(int)))

    def first_loss(self, gap: str) -> float:
        """How many packets come before the first that does not, through the switch."""
        return float(self.missing(gap)[0])

    def share_lost(self, gap: str) -> float:
        """Of the packets after the first loss those lost in the switch, where the receiver keeps up."""
        lost = self.missing(gap, "fast")
        return len(lost) / (SENT - lost[0])

    def block(self, gap: str) -> float:
        """The longest row of numbers that did not come."""
        lost, longest, length = self.missing(gap), 0, 0
        for before, number in zip([-2, *lost], lost, strict=False):
            length = length + 1 if number == before + 1 else 1
            longest = max(longest, length)
        return float(longest)

    def probed(self, gap: str, receiver: str = "slow") -> Probe:
        """Bottleneck that `longfat.theory.probe` reads from the arrivals."""
        came = self.arrivals(gap, receiver)
        return probe(list(came["number"].astype(int)), list(came["time_s"]), size=SIZE, sent=SENT)

    def probe_block(self, gap: str) -> float:
        """The longest row of losses that it puts down to the receiver."""
        return float(max((loss.packets for loss in self.probed(gap).losses if loss.where == "receiver"), default=0))

    def probe_memory(self, gap: str) -> float:
        """The memory that it finds: bytes of IP."""
        memory = self.probed(gap).memory_bytes
        return memory.value if memory else nan

    def lost(self, gap: str) -> float:
        """Packets of a burst that did not come, over a path of 1 Gb/s from end to end."""
        return float(len(self.missing(gap, stem="gaps")))

    def rate(self, gap: str) -> float:
        """Payload that came, from the first packet to the last, over that path."""
        came = self.arrivals(gap, stem="gaps")
        return (len(came) - 1) * 1000 * 8e-6 / float(came["time_s"].iloc[-1] - came["time_s"].iloc[0])

    # The equations over their grids

    def equation_1_error(self) -> list[float]:
        """Equation 1's drops less ours, of the packets sent, for each burst of the grid."""
        rows = self.table("equation1", "flows")
        return [
            abs(row["packets_dropped"] - theory.burst_drops(row["N"], 1000, 1e9, row["s (bps)"], row["M (bytes)"])) / row["N"]
            for row in self._numbers(rows)
        ]

    def _numbers(self, rows: pd.DataFrame) -> list[dict[str, Any]]:
        """Rows whose axes are numbers."""
        from longfat._longfat import quantity

        made: list[dict[str, Any]] = []
        for row in rows.to_dict("records"):
            found = {"N": float(str(row["N"]).split()[0])} if "N" in row else {}
            for axis, name, scale in (("s", "s (bps)", 1.0), ("M", "M (bytes)", 1.0), ("R", "R (s)", 1.0)):
                if axis in row and (read := quantity(row[axis])):
                    found[name] = read[0] * scale
            made.append({**{str(key): value for key, value in row.items()}, **found})
        return made

    def grid(self) -> list[dict[str, float]]:
        """Each cell of Equations 2 to 4, in bit/s of IP.

        The rate that slow start `reached` before its first loss, by the equation, and by it with `arrival_rate`; whether the cell is
        `forbidden`.
        """
        return self.measured.once(_grid)

    def equation_2_error(self) -> list[float]:
        """By how much that rate differs from Equation 2's, as a share of it, where packets are lost before the path is full."""
        return [abs(cell["reached"] / cell["equation"] - 1) for cell in self.grid() if cell["reached"] < cell["s"]]

    def forbidden_agrees(self) -> list[bool]:
        """For each cell of Figure 4, whether packets are lost in slow start just where it is black."""
        return [(cell["reached"] < cell["s"]) == (cell["forbidden"] > 0) for cell in self.grid()]


def _grid(measured: longfat.paper.Measured) -> list[dict[str, float]]:
    cells = Cells.of(measured)
    results = measured["equation2"]
    found: list[dict[str, float]] = []
    for row in cells._numbers(cells.table("equation2", "runs")):
        rate, rtt = row["s (bps)"], row["R (s)"]
        run = results.open(str(row["run"]))
        drops = run.events[run.events["kind"].str.startswith("dropped")]
        reached = nan
        if len(drops):
            at = float(drops["time_s"].iloc[0])
            before = run.flow_series[run.flow_series["time_s"] <= at].iloc[-1]
            # Bytes of IP, as the equations count what the switch holds.
            reached = float(before["in_flight_bytes"]) * 1500 / MSS * 8 / rtt
        roots = theory.forbidden_rates(1e9, MEMORY, rtt)
        found.append(
            {
                "s": rate,
                "R": rtt,
                "reached": reached,
                "equation": 8 * theory.burst_packets(1.0, 1e9, rate, MEMORY) / rtt,
                "clocked": 8 * theory.burst_packets(1.0, theory.arrival_rate(1e9, rate), rate, MEMORY) / rtt,
                "forbidden": float(roots is not None and roots[0] < rate < roots[1]),
            }
        )
    if not found:
        raise MissingResults("no run of equation2")
    return found
