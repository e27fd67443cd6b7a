"""What `longfat trace` says of captures that others took and explained.

    python bench/strangers.py FOLDER [--details]

Captures of strangers are not kept here. Each row says where one is (a public repository, and the path in it), how it is told from others
(SHA-256), what its source says of it, and which cause that is in longfat's words. Those that are in FOLDER, under any name, are judged:
right, wrong, or cannot tell, which is no hit. A cause that a verdict names among those it cannot be told from is counted by itself.

The rows were written before longfat read any of these files. Rules were mended after it, and `docs/captures.md` has what was said before.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import longfat.trace

SILENT = ("too short to tell", "cannot tell")


@dataclass(frozen=True)
class Known:
    """A capture, and what its source says. `causes`: one of these is right; none, where longfat has no word for it."""

    repository: str
    path: str
    sha256: str
    source: str
    causes: tuple[str, ...]


L4S = "github.com/heistp/l4s-tests"
WIFI = (
    "README, Between-Flow Induced Delay from WiFi, Intra-Flow Latency Spikes: a flow by WiFi beside a wired one, 20 Mb/s, 20 ms; {}; "
    "both ends negotiate ECN"
)
CLOUD = "github.com/seabhull/SharkFestTraces"
OUTAGE = "README: an outage of a cloud's network; find the direction of the loss and how long it took"
BOOK = "github.com/chrissanders/packets"
LUGANO = "github.com/lucadibello/tcp-congestion-analysis-tool"
NETEM = "report, Simulating congestion, Test plan; rate-limiter.sh: netem with 5 % loss, 2 % duplicates, 1 % corrupt at the sender; {}"
IMPAIRED = "github.com/mike-albano/network-impairment"

KNOWN = (
    Known(
        L4S,
        "results/wifi/prague_dualpi2_wifi.pcap.gz",
        "0998eb7a81702239f54f519309f53d5c9b7745715a8b4c9010e5eef20550e6db",
        WIFI.format("Prague in DualPI2, which marks bursts too much"),
        ("congestion, by ECN",),
    ),
    Known(
        L4S,
        "results/wifi/prague_fq_codel_wifi.pcap.gz",
        "f8d6dff3035964de67f489374d2dd06422884feddd03b20aebc0d6d337e2d5ba",
        WIFI.format("Prague in fq_codel, takes its CE marks for those of L4S"),
        ("congestion, by ECN",),
    ),
    Known(
        L4S,
        "results/wifi/cubic_dualpi2_wifi.pcap.gz",
        "d992faf285b7cd0f84c316d88f643b1fa64405d518750605dd91cacf764701d0",
        WIFI.format("CUBIC in DualPI2"),
        ("congestion, by ECN",),
    ),
    Known(
        L4S,
        "results/wifi/cubic_fq_codel_wifi.pcap.gz",
        "26b68821f27457a9a177391ac2f41b82490466359a02e21a5f28cb835d3fe2bc",
        WIFI.format("CUBIC in fq_codel"),
        ("congestion, by ECN",),
    ),
    Known(
        LUGANO,
        "pcaps/reno-flow.pcapng",
        "6f49c240cc06eee026e240498fd1d55d6927543b4eb3db37698d8450f523b9c1",
        NETEM.format("Reno"),
        ("random loss",),
    ),
    Known(
        LUGANO,
        "pcaps/cubic-flow.pcapng",
        "5739d89d6697c53a683555cc671229b6926524fc18fe13237af37c4beeb1bd40",
        NETEM.format("CUBIC"),
        ("random loss",),
    ),
    Known(
        LUGANO,
        "pcaps/vegas-flow.pcapng",
        "6f3ed860caaa6ae3e84bc91dc67054aa172e4e98979f53b53d67e6b4e476e097",
        NETEM.format("Vegas"),
        ("random loss",),
    ),
    Known(
        "github.com/sakshamrathi21/TCP-Variants-Comparison",
        "results/reno-e2.pcapng",
        "30548512cd31f62eefdbaf0192af28341eb4a53a37d107cd21cb940b391cdf2e",
        "report, Wireshark Plots, Reno: the second run has netem with a delay of 100 ms and 1 % loss on the loopback, 100 Mb/s",
        ("random loss",),
    ),
    Known(
        IMPAIRED,
        "pcaps/curl_client_lossy2.pcap",
        "0fd089aa3834e7c1f147ad835fc318203933aba3042c24394d005352128b7d60",
        "README, Scenario 4: netem drops half of what goes to the client; taken at the client",
        ("random loss",),
    ),
    Known(
        IMPAIRED,
        "pcaps/curl_client_lossy3.pcap",
        "610d51ba623e86b3d6360bd1c78f16d8bbbb9834aceb7342b58bbdc24866669d",
        "README, Scenario 4: the same once more; taken at the client",
        ("random loss",),
    ),
    Known(
        IMPAIRED,
        "pcaps/curl_router_lossy.pcap",
        "d841d4d714236b032e9ed6f48b60af791ea6b6db4c8ad51f58de9919c200b05d",
        "README, Scenario 4: the same transfer, taken at the router, in front of the loss",
        ("random loss",),
    ),
    Known(
        IMPAIRED,
        "pcaps/curl_server_lossy.pcap",
        "4e480849c2cb3c30d73e552af45290d8d473ffaecd8bdfbdc9e819a9e7c92d05",
        "README, Scenario 4: half is dropped; taken at the server",
        ("random loss",),
    ),
    Known(
        "github.com/NetBros/TDTS06",
        "Lab3/tcp (1).tar/tcp-ethereal-trace-1",
        "2042e5323cf5a07c8c9bd9c6e386e79a8f81ff67ee1391ad0e1b9774db05d484",
        "the trace of Kurose and Ross's lab; Lab3/README, Summary: the window grows no further than 6 packets, though the receiver's does",
        ("send buffer", "application"),
    ),
    Known(
        BOOK,
        "tcp_zerowindowrecovery.pcapng",
        "2ce5698be55b976c32d0360674d7daa05a373730d7bc931e64744d41af7ef227",
        "Sanders, Practical Packet Analysis, 3rd edition, chapter 11: the receiver's window closes and opens again",
        ("closing window",),
    ),
    Known(
        BOOK,
        "tcp_zerowindowdead.pcapng",
        "202180ddbef50c3e3f068eb22f573917ad27273e6af30c9b7d77129f6aefa1e3",
        "chapter 11: the receiver's window closes and stays so",
        ("closing window",),
    ),
    Known(
        BOOK,
        "tcp_retransmissions.pcapng",
        "bc433d4a5387a36239c03084da67211993aa8ad09b7ef9a2250d7368c666889d",
        "chapter 11: a segment is sent again and again, and never answered",
        (),
    ),
    Known(
        BOOK,
        "tcp_dupack.pcapng",
        "05990e95f030127dcc94b959c9d7bfb67c51e6e250ad63e6623db2db32ceade0",
        "chapter 11: a segment is lost, duplicate ACKs, a fast retransmission",
        ("random loss",),
    ),
    Known(CLOUD, "SF20_Trace1.pcapng", "129e31f2cc97548a51278e58d8f66b1f11b74c45050724721df58f2bbf95d57a", OUTAGE, ()),
    Known(CLOUD, "SF20_trace2.pcapng", "b7fd48e3dea24dfbd21661039cf30b596c2289740834f7bf5bef5a36f60706d6", OUTAGE, ()),
    Known(CLOUD, "SF20_Trace3.pcapng", "37ac564d05168d06d4ce58d19a9a1e7decacec398cad4544e8d326e245823a43", OUTAGE, ()),
)


def outcome(known: Known, cause: str, alike: list[str]) -> str:
    """How a verdict is counted."""
    if not known.causes:
        return "no word for it"
    if cause in known.causes:
        return "right"
    if cause in SILENT:
        return "cannot tell"
    return "not told apart" if set(alike) & set(known.causes) else "wrong"


def main() -> None:
    """Judges what is there, prints each and the confusion."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--details", action="store_true")
    asked = parser.parse_args()
    files = {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in sorted(asked.folder.iterdir()) if file.is_file()}
    counted: Counter[str] = Counter()
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for known in KNOWN:
        if known.sha256 not in files:
            counted["not in the folder"] += 1
            continue
        one = max(longfat.trace.read(files[known.sha256])["connections"], key=lambda other: other["data"]["bytes_acked"])
        verdict = one["verdict"]
        counts = outcome(known, verdict["cause"], verdict["cannot_tell_from"])
        counted[counts] += 1
        confusion[" or ".join(known.causes) or "(none of ours)"][verdict["cause"]] += 1
        print(
            f"{counts:15} {Path(known.path).name:32} {one['data']['segments']:6} segments  {' or '.join(known.causes) or '-':26} "
            f"{verdict['cause']} ({100 * verdict['confidence']:.0f} %)"
        )
        if asked.details:
            print(f"    {known.repository} {known.path}\n    {known.source}\n    {verdict['why']}")
            for limit in verdict["limits"]:
                print(f"    {limit}")
    for cause, found in confusion.items():
        print(f"{cause:28} {', '.join(f'{other} {n}' for other, n in found.most_common())}")
    print(", ".join(f"{name}: {n}" for name, n in counted.most_common()))


main()
