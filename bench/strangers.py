"""Verdicts of `longfat trace` on captures that others took and explained.

    python bench/strangers.py FOLDER [--set second] [--details]

Captures of strangers are not kept here. Each row says where one is (a public repository, and the path in it), how it is told from others
(SHA-256; of what is packed with xz, unpacked), what its source says of it, and which cause that is in longfat's words. Those that are in
FOLDER, under any name, are judged: right, wrong, or cannot tell, which is no hit. A cause that a verdict names among those it cannot be
told from is counted by itself.

The rows of a set were written before longfat read any of its files. Rules were changed after it; `notebook/captures-of-strangers.md`
has the verdicts before that.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import longfat.capture

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

FIRST = (
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
        "chapter 11: a segment is retransmitted and never answered",
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


POLICING = "github.com/USC-NSL/policing-detection"
CHUNKS = (
    "README, Validating against Controlled Lab Traces, and data/validation/README: CUBIC, five chunks of 2 MB, 0.5 s apart, over an ISP's "
    "kind of router and 100 ms, taken at the server; {}"
)
UCLOUVAIN = "github.com/obonaventure/cnp3"
UML = "Missions/S5/tcp2.rst, Trace analysis: NewReno over a link that netem slows (1 MB takes 9 s without loss, at 10 ms as at 100 ms); {}"
CLOUD_TC = "github.com/xiaodongQ/assets_archive"
ALIYUN = (
    "github.com/xiaodongQ/xiaodongq.github.io _posts/2025-05-12-tcp-window-size-case-tc.md, section 3.2: curl between two hosts of a "
    "cloud, 0.3 ms and 2 Gb/s apart; {}"
)
ESSLINGEN = "github.com/DerKarim/RN1_Labor3"
KEYS = (
    "README, {}: the server's window is 2896 bytes, without scaling; a client writes 60,000 bytes at once, and waits for a key of its user "
    "before and after"
)


def chunks(name: str, sha256: str, says: str, *causes: str) -> Known:
    """A row of the lab traces of Flach et al., whose setup is in the file's name."""
    path = f"data/validation/C=5-L=2000000-CD=500-{name}-TCP=cubic-T=1-CP={{}}.pcap.xz"
    setup, port = name.rsplit(" ", 1)
    return Known(POLICING, path.replace(name, setup).format(port), sha256, CHUNKS.format(says), causes)


QUIET = "RTT=100-RTTV=0-RTTC=0%-LOSS=0%"
# A shaper's queue of n bytes adds n / rate to the 100 ms. 8 kB are five packets: 43 ms at 1.5 Mb/s, 21 ms at 3 Mb/s, which is a
# small buffer, and congestion. A queue of 2 MB takes a whole chunk. One loss in a hundred allows Reno 1.4 Mb/s at 100 ms (Mathis et al.,
# CCR 1997), one in fifty 1 Mb/s, one in twenty 0.6 Mb/s, one in ten 0.45 Mb/s, and one in a hundred 0.3 Mb/s at 500 ms.
SECOND = (
    chunks(
        f"PCIR=500000-PBC=100000-{QUIET} 10002",
        "b2a324a3a30845394ff6f74998b66f7523a8d0b27c293da0bab32723181d6bd0",
        "a policer of 0.5 Mb/s and 100 kB",
        "policer",
    ),
    chunks(
        f"PCIR=1500000-PBC=8000-{QUIET} 10006",
        "77e80e8aba87cf349d1e5e21b655602ac2d19beeeb55e0f75165179275a813e9",
        "a policer of 1.5 Mb/s and 8 kB",
        "policer",
    ),
    chunks(
        f"PCIR=1500000-PBC=100000-{QUIET} 10007",
        "51f08f7489c0935ba3a8a187bae71dbd14d78c71f00d9d6e1f89c6af96cb9d95",
        "a policer of 1.5 Mb/s and 100 kB",
        "policer",
    ),
    chunks(
        f"PCIR=3000000-PBC=1000000-{QUIET} 10013",
        "e5dba1c8d3f832db9a55c571c26003315069824c0c92a320c839e2f70ead296c",
        "a policer of 3 Mb/s and 1 MB",
        "policer",
    ),
    chunks(
        f"PCIR=10000000-PBC=100000-{QUIET} 10017",
        "99288fe6e3607129a376c6934a1e9ad3a1246627b3e4bc1f54246e3acb5c1b8f",
        "a policer of 10 Mb/s and 100 kB",
        "policer",
    ),
    chunks(
        f"SCIR=1500000-SBC=8000-{QUIET} 10810",
        "49ef07ade73ff5f194102169cbad93ed251874279a7615c72ea0208a95ba4d93",
        "a shaper of 1.5 Mb/s with a queue of 8 kB",
        "bursts over a small buffer",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=3000000-SBC=8000-{QUIET} 10815",
        "e06cf797ee5ea2565cd4d5ee31a2cd4ee5e8109977a55904a11e0d707f484e1b",
        "a shaper of 3 Mb/s with a queue of 8 kB",
        "bursts over a small buffer",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=500000-SBC=100000-{QUIET} 10806",
        "672830182a706813624f44f494b25510d5e42fdedf65fdbf066f06755a7ad606",
        "a shaper of 0.5 Mb/s with a queue of 100 kB",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=1500000-SBC=100000-{QUIET} 10811",
        "0493f48b32f3df3061505916d5a18a8bb488a8ed355ad999e5dfd5ff2fc50646",
        "a shaper of 1.5 Mb/s with a queue of 100 kB",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=10000000-SBC=100000-{QUIET} 10822",
        "dd7f5bb789edbf9e85a824a965cb934b3951958a011dfe3d216c12f929723bf5",
        "a shaper of 10 Mb/s with a queue of 100 kB",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=10000000-{QUIET}-XT=1 11465",
        "4a174255dbe1f14f23f17b94afcfeef63e1c9bde42a17b622ef8070feaef7edd",
        "a shaper of 10 Mb/s, beside another flow",
        "congestion, by loss",
    ),
    chunks(
        f"SCIR=1500000-SBC=2000000-{QUIET} 10813",
        "d6efc45b16c32f9a18673ace4cbe60cd974cab0d1c215e1b4978c9b0b4c5ca08",
        "a shaper of 1.5 Mb/s with a queue of 2 MB",
        "a full path",
    ),
    chunks(
        f"SCIR=3000000-SBC=2000000-{QUIET} 10818",
        "84a3edf52891c928ba8a7b3bb736de6bfebdc8c8d7316a5039ad2551c1b2e29b",
        "a shaper of 3 Mb/s with a queue of 2 MB",
        "a full path",
    ),
    chunks(
        "SCIR=10000000-RTT=100-RTTV=0-RTTC=0%-LOSS=1% 12368",
        "c9b7e90f96304729f906797fc0d2cf312fefc245e80fd93646aad2776949c5c6",
        "an emulator that drops 1 %, behind it a shaper of 10 Mb/s",
        "random loss",
    ),
    chunks(
        "SCIR=10000000-RTT=100-RTTV=0-RTTC=0%-LOSS=2% 12369",
        "3de1d5b37ad89a9f11338391b801a4794356f4246c73ad56370a20044134806d",
        "an emulator that drops 2 %, behind it a shaper of 10 Mb/s",
        "random loss",
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/0pc/0pc_10ms/trace_0pc_10ms.dump",
        "c4b892c40a36ad60d891bf8d72e681d2c17f4c5d763ae9518cbf8bf5d2853776",
        UML.format("no loss, 10 ms"),
        ("a full path",),
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/0pc/0pc_100ms/trace_0pc_100ms.dump",
        "13f79b93e8261cf8cd601190a86535853f497869d2e748585800d0715bfbbeb1",
        UML.format("no loss, 100 ms"),
        ("a full path",),
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/1pc_500ms/trace_1pc_500ms.dump",
        "cdce40a7b066c5134c33b2391b821ba2ad38e6e6ef1178ae7ee1bdc3906f8fa6",
        UML.format("1 % of random losses, 500 ms: 24 s"),
        ("random loss",),
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/5pc_100ms/trace_5pc_100ms.dump",
        "11c916689a6c0280aaccd1bf6f599126de8d16019912694ff289e20406c3f19d",
        UML.format("5 %, 100 ms: 19 s"),
        ("random loss",),
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/5pc_500ms/trace_5pc_500ms.dump",
        "bfcf9d9084961cc8b9ce23d7bdf58c3a29305b70a47fff46b11f26bfc511ba09",
        UML.format("5 %, 500 ms: 106 s"),
        ("random loss",),
    ),
    Known(
        UCLOUVAIN,
        "Missions/S5/traces/traces_tcp/10pc_100ms/trace_10pc_100ms.dump",
        "e48ec8eed4b14ea020c3b621f3e7f59c78b2406111d20935eb5129e4592443b1",
        UML.format("10 %, 100 ms: 36 s"),
        ("random loss",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/4_loss-10_cli.cap",
        "5f8ce981a691d48ab330b8afe4fca3ae551e688a2afc649c24b48dd5045be917",
        ALIYUN.format("netem drops 10 % at the server; taken at the client"),
        ("random loss",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/4_loss-10_server.cap",
        "34ba0f645b676c50dc6260af631a41784926ddbfd48d53b8be7b6419204bc92d",
        ALIYUN.format("the same transfer, taken at the server, behind netem"),
        ("random loss",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/10_reorder-20_cli.cap",
        "68bdbee5475989435f2ff0fc9e17666e65ea9bdda603b5c97ffdb3da469365d7",
        ALIYUN.format("netem at the server makes 20 % of the packets 100 ms late (`delay 100ms reorder 80% 10%`); taken at the client"),
        ("reordering",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/10_reorder-20_server.cap",
        "caee84ab9319eae3e4a7faa86c311f3b6a5d935d6414906f874a5d36e08b3c1e",
        ALIYUN.format("the same transfer, taken at the server, behind netem"),
        ("reordering",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/12_bd-8mb_cli.cap",
        "59b26b35c2dd5a94d97d0a4a937a9796a8d7e7f025f08e95dc1ac22c2b234d68",
        ALIYUN.format("tbf of 8 Mb/s at the server, without loss; taken at the client"),
        ("a full path",),
    ),
    Known(
        CLOUD_TC,
        "ecs_tc_case/12_bd-8mb_server.cap",
        "fe4e5128beec3ea4b95e00769f446746d17d622c1543e03af7b13ee7a0050051",
        ALIYUN.format("the same transfer, taken at the server, behind tbf"),
        ("a full path",),
    ),
    Known(
        ESSLINGEN,
        "lab3 captures/1-1-2-vrichtig.pcapng",
        "91db63ee6ed6cd618d141e0ad58c1ad4452a7343b96c8af60c358ed2c91c3146",
        KEYS.format("1.1.2"),
        ("receive window", "application"),
    ),
    Known(
        ESSLINGEN,
        "lab3 captures/1-2.pcapng",
        "26bddee5e3244c20e1ed160c9c72b4c23d4dbd70681999da0be282bb0cc1d250",
        KEYS.format("1.2"),
        ("receive window", "application"),
    ),
)

PLAYGROUND = "github.com/gongyisheng/playground"
EC2 = (
    "network/experiment/benchmark.md, and yishenggong.com, 2023/04/15, packet capture experiment 2: curl from Python's server between two "
    "hosts of a cloud; {}"
)
# A name, what was done, the causes, and SHA-256 at the client and at the server. Where one in five is lost on a path of less than a
# millisecond, timers are waited for, whatever the buffers. With a buffer of two segments and one in five 100 ms late, both limit.
BUFFERS = """
bandwidth_1mbps | server: tbf of 8 Mb/s, 25 kB of burst and 10 ms of queue | a full path; congestion, by loss
a0a11dfe2e8e57818516774aeb969d5151a389c61df00697cbdd0f6970846773 f33b45b63ebc20969d767f913bfc56f76c405ff4e31888e879dc5e157e50c056
corrupt_20% | server: netem spoils one packet in five, which the client then drops | random loss
ca7b8afbcea774f54ce9d16764d59490ae7144b5a4c4bd33f4cec9016ced5f0c 12a208fb1139dc3e183ac0bcb56269433c5dc599d78d61eac3911cc4f9a6e908
loss_20% | server: netem drops one packet in five | random loss
81189bd2347b16ee1a1d3bb40bbee9ff874df2a780dee0f884a3bf529c8be208 6fd284bb6f04e32c0ac2b962d40e0e3bcd10a55f76be707316ce397079a3cd19
rmem_4096_corrupt_20% | client: tcp_rmem 4096; server: one in five spoilt | random loss
d9096478e39e3b9132b744ff6d4bf07888c92d456ad16d1fd555bb08d3e861ae 2d6823fd438aa8d2920c3d839b89ef69f18c4da9566203a6a7f1909b57acc628
rmem_4096_loss_20% | client: tcp_rmem 4096; server: one in five dropped | random loss
b483f1ae07227fd8cf9b351b3fab38258ed607f4ed4a31e2d14299fa9bc2b5b7 7a3246fb2d8a5ec094a09f3a354b0e321e82ddbf8c1c120ee04ebc8edd3585ea
rmem_4096_reorder_20% | client: tcp_rmem 4096; server: one in five 100 ms late | reordering; receive window
59610ff8226c7952a7800c519e86acc1b88d6eb94068ef24fc8af2364c1d2e82 a1ee18b84c4fa316b1a668bd5cad0097c1e110386b66a787ee7e3e5d1a4f2434
rmem_4096_rtt_100ms | client: tcp_rmem 4096, and 100 ms | receive window
6b25f17039571b9c507d10dda1fe910cf893f1ec38973a829f161c5c11995714 7b7828e25eb711b2da45f5e6d5c2f149f97431fa96ed4aee98aa44cdb7518df4
wmem_4096_bandwidth_1mbps | server: tcp_wmem 4096, and tbf of 8 Mb/s | send buffer; a full path
0abdff6f187045cacacf1f5191deac73ef9cbb169a30db575df32bf0ee74070e 55d4fc1a94128f8a870f1e0ff3ef225b228f5c215c9e8b51209bb026fe71094c
wmem_4096_corrupt_20% | server: tcp_wmem 4096, one in five spoilt | random loss
3f45844fe7094145c4fa1a23a9bcce3e8c60ec1027c65cd3826e9a408930b219 a965cd481982a044a384a671d72f708069338a06af12ce7a53a28c1740d8bca7
wmem_4096_loss_20% | server: tcp_wmem 4096, one in five dropped | random loss
820ab156cf6c2a89d34cf32f15644cba15748d326869da0cebee486058fad404 cdba188209e98633268c9120bfe83a52ed43549b09bcb83e0b03ebd50512fc4c
wmem_4096_reorder_20% | server: tcp_wmem 4096, one in five 100 ms late | reordering; send buffer
1ad8999b05b6295b2f763ba8701894d6817ede4463dd71dfc934d86ef4a8e88a 87439f5b7d6b6ad5b7b6d20decb15359afd09a3cfd90c5ac1bc831b91b4b13fc
wmem_4096_rtt_100ms | server: tcp_wmem 4096; client: 100 ms | send buffer
4b96331562804edbc230d2b9fba8d1aef7b3df5693bfaef3e792b8c1e5d4b0d0 f505c5b1905868c78ad02a55e1655e8d6d8ab1458800b41b46c5ff6ef912d705
"""


def buffers() -> Iterator[Known]:
    """Rows of the third set."""
    lines = BUFFERS.strip().splitlines()
    for told, sums in zip(lines[::2], lines[1::2], strict=True):
        name, says, causes = told.split(" | ")
        for at, sha256 in zip(("client", "server"), sums.split(), strict=True):
            path = f"network/experiment/download_file_2g_{name}/{at}.pcap"
            yield Known(PLAYGROUND, path, sha256, EC2.format(says), tuple(causes.split("; ")))


SETS = {"first": FIRST, "second": SECOND, "third": tuple(buffers())}


def outcome(known: Known, cause: str, alike: list[str]) -> str:
    """Outcome of a verdict, as it is counted."""
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
    parser.add_argument("--set", choices=SETS, default="second", help="the rows to judge")
    parser.add_argument("--details", action="store_true")
    asked = parser.parse_args()
    files = {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in sorted(asked.folder.iterdir()) if file.is_file()}
    counted: Counter[str] = Counter()
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for known in SETS[asked.set]:
        if known.sha256 not in files:
            counted["not in the folder"] += 1
            continue
        one = max(longfat.capture.read(files[known.sha256]).connections, key=lambda other: other.data.bytes_acked)
        verdict = one.verdict
        counts = outcome(known, verdict.cause, verdict.cannot_tell_from)
        counted[counts] += 1
        confusion[" or ".join(known.causes) or "(none of ours)"][verdict.cause] += 1
        print(
            f"{counts:15} {Path(known.path).name:32} {one.data.segments:6} segments  {' or '.join(known.causes) or '-':26} "
            f"{verdict.cause} ({100 * verdict.confidence:.0f} %)"
        )
        if asked.details:
            print(f"    {known.repository} {known.path}\n    {known.source}\n    {verdict.why}")
            for limit in verdict.limits:
                print(f"    {limit}")
    for cause, found in confusion.items():
        print(f"{cause:28} {', '.join(f'{other} {n}' for other, n in found.most_common())}")
    print(", ".join(f"{name}: {n}" for name, n in counted.most_common()))


main()
