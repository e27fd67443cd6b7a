"""The search: pages that it leaves out, and words by which readers ask for a page that does not use them."""

from __future__ import annotations

from fnmatch import fnmatch

EVIDENCE = (
    "docs/agreement.md",
    "docs/benchmarks.md",
    "docs/evaluate-cards.md",
    "docs/linux-rules.md",
    "docs/pantheon.md",
    "docs/promises.md",
    "docs/queues-published.md",
    "docs/validation*.md",
    "experiments/*.md",
    "notebook/*.md",
    "papers/*.md",
    "CHANGELOG.md",
)
"""Pages of evidence: in a tab of their own, with what the index says of them in the search."""
LISTS = ("docs/bibliography.md", "docs/gallery.md", "docs/index.md", "LICENSE*")
ALIASES = {
    "docs/access-links.md": "WLAN 802.11 4G 5G DOCSIS DSL Starlink GEO LEO PEP",
    "docs/advise.md": "tune tuning sysctl recommendation settings",
    "docs/captures.md": "Wireshark tcpdump tshark pcap tcptrace slow transfer diagnose",
    "docs/classes.md": "QoS DiffServ priority shaping",
    "docs/cluster.md": "HPC Slurm Kubernetes HTCondor parallel batch",
    "docs/compared.md": "alternatives OMNeT++ ns-3 htsim mininet emulator",
    "docs/concepts.md": "introduction basics long fat network LFN",
    "docs/cookbook/bbr-beside-cubic.md": "bbr vs cubic versus bbr coexistence",
    "docs/cookbook/bufferbloat.md": "bufferbloat lag latency under load jitter video call",
    "docs/cookbook/one-in-a-million.md": "packet loss rate error BER",
    "docs/cookbook/router-buffer.md": "buffer size sizing switch memory",
    "docs/cookbook/transfer-node.md": "tune tuning host data transfer node DTN Science DMZ Globus GridFTP 100G",
    "docs/cookbook/which-window.md": "BDP bandwidth-delay product rwnd tcp_rmem tcp_wmem SO_RCVBUF socket buffer",
    "docs/ecn.md": "explicit congestion notification L4S AccECN CE mark",
    "docs/experiment-file.md": "config configuration TOML syntax keys schema",
    "docs/experiment/host.md": "limit_output_bytes tcp_limit_output_bytes TSQ txqueuelen gso_max_size rx_usecs",
    "docs/faq.md": "QUIC HTTP/3 IPv6 cite citation",
    "docs/from-ns-3.md": "ns-3 ns3 TcpSocket migrate convert",
    "docs/fit.md": "calibrate calibration inference Bayesian posterior iperf3 infer path parameters",
    "docs/from-other-tools.md": "mininet mahimahi iperf3 flent migrate convert",
    "docs/from-tc.md": "netem tc tbf htb police qdisc migrate convert",
    "docs/glossary.md": "glossary terms definitions BDP rwnd cwnd",
    "docs/hosts.md": "NIC TSO GSO GRO LRO coalescing txqueuelen TSQ CPU",
    "docs/install.md": "install installation setup pip wheel requirements macOS Windows WSL Docker",
    "docs/links-that-change.md": "jitter reordering outage handover variable rate",
    "docs/python.md": "API pandas DataFrame Jupyter CSV export",
    "docs/python-control.md": "my own congestion control reinforcement learning Gym",
    "docs/queues/dualpi2.md": "L4S",
    "docs/report.md": "HTML figures plot export PDF SVG LaTeX",
    "docs/results.md": "metrics columns throughput fairness Jain fairness index unfairness",
    "docs/slow-start.md": "hystart HyStart HyStart++ SUSS SEARCH careful resume initial window ramp up",
    "docs/sweeps.md": "parameter study grid repeats seeds confidence interval Sobol",
    "docs/traffic.md": "cross traffic background web HTTP video",
    "docs/errors.md": "error message is not a unit here there is no key",
    "docs/troubleshooting.md": "problem fails help warning wrong number",
    "docs/tune.md": "tune tuning sysctl ethtool DTN data transfer node host settings governor IRQ ring buffer fasterdata apply revert",
    "docs/testbed.md": "emulation real kernel Linux namespaces",
}
"""Words by page."""


def told(text: str, page: str, *, listing: bool) -> str:
    """A page with what it tells the search: that it is left out, or its words, which are not shown."""
    if listing or any(fnmatch(page, pattern) for pattern in (*EVIDENCE, *LISTS)):
        return f"---\nsearch:\n  exclude: true\n---\n{text}"
    if page not in ALIASES:
        return text
    title, _, rest = text.partition("\n")
    return f"{title}\n\n<p hidden>{ALIASES[page]}</p>\n{rest}"
