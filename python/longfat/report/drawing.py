"""A drawing of the path, as inline SVG: hosts and routers from left to right, links with what they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from longfat.results.results import axis_quantity

WIDTH, HEIGHT = 212, 56
"""From one column to the next, and from one row to the next, in pixels."""
MOST_IN_FAN = 26
"""Characters at a link that has others close by."""
BOX = 74
MOST_NODES = 24
"""More cannot be read, and are not drawn."""


@dataclass
class Node:
    """A host or router, or several hosts of one kind at one place."""

    names: list[str]
    is_host: bool
    column: int = 0
    row: float = 0.0

    @property
    def label(self) -> str:
        """Name of the node; for several, the first and the last."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} … {self.names[-1]}"


@dataclass
class Edge:
    """A link between two nodes, and what is written at it."""

    ends: tuple[Node, Node]
    bottleneck: bool
    lines: list[str] = field(default_factory=list[str])


def path_drawing(runs: Sequence[Mapping[str, Any]]) -> Markup:
    """The path of resolved experiments that are runs of one sweep. Values show what differs between them.

    Empty where the path has more than 24 places.
    """
    nodes, edges = _network(runs)
    if not nodes or len(nodes) > MOST_NODES:
        return Markup("")
    wide = (max(node.column for node in nodes) + 1) * WIDTH - (WIDTH - BOX) + 20
    top, bottom = min(node.row for node in nodes), max(node.row for node in nodes)
    high = int((bottom - top) * HEIGHT) + 104
    fans = Counter(fan for edge in edges for fan in _fans(edge))
    parts = [_edge(edge, top, in_fan=any(fans[fan] > 1 for fan in _fans(edge))) for edge in edges] + [_node(node, top) for node in nodes]
    says = "; ".join(f"{edge.ends[0].label} to {edge.ends[1].label}: {', '.join(edge.lines)}" for edge in edges)
    head = '<svg class="path" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
    return Markup(head).format(f"The path. {says}", wide, high, wide, high) + Markup("").join(parts) + Markup("</svg>")


def path_links(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The links of that path in words, for a screen too narrow for the drawing: the ends of each, and what it is."""
    edges = sorted(_network(runs)[1], key=lambda edge: min(node.column for node in edge.ends))
    return [(f"{edge.ends[0].label} – {edge.ends[1].label}", ", ".join(edge.lines)) for edge in edges]


def _network(runs: Sequence[Mapping[str, Any]]) -> tuple[list[Node], list[Edge]]:
    path, flows = runs[0]["path"], runs[0]["flow"]
    links: list[dict[str, Any]] = path["link"]
    hosts = set(path.get("hosts", []))
    routers = [*path.get("routers", []), *path.get("switches", [])]
    senders, receivers = _ends(flows, "from"), _ends(flows, "to")
    known = {link["name"]: _said([_link(run, link["name"]) for run in runs]) for link in links}
    alike: dict[Any, Node] = {}
    place: dict[str, Node] = {}
    of_host: dict[str, list[dict[str, Any]]] = {}
    for link in links:
        for end in (link["from"], link["to"]):
            of_host.setdefault(end, []).append(link)
    for name in [*path.get("hosts", []), *routers]:
        own = of_host.get(name, [])
        key: Any = name
        # Hosts that hang at one place by links of one kind, and do the same, are one box.
        if name in hosts and len(own) == 1:
            other = own[0]["to"] if own[0]["from"] == name else own[0]["from"]
            key = (other, own[0]["from"] == name, tuple(known[own[0]["name"]]), name in senders, name in receivers)
        node = alike.setdefault(key, Node([], name in hosts))
        node.names.append(name)
        place[name] = node
    edges: list[Edge] = []
    for link in links:
        ends = (place[link["from"]], place[link["to"]])
        if not any(edge.ends == ends and edge.lines == known[link["name"]] for edge in edges):
            edges.append(Edge(ends, bool(link.get("bottleneck")), known[link["name"]]))
    nodes = list(alike.values())
    if flows and links:
        _lay_out(nodes, edges, place[_first(flows[0]["from"])], place[_first(flows[0]["to"])], receivers)
    return nodes, edges


def _ends(flows: Sequence[Mapping[str, Any]], end: str) -> set[str]:
    return {name for flow in flows for name in ([flow[end]] if isinstance(flow[end], str) else flow[end])}


def _first(end: Any) -> str:
    return end if isinstance(end, str) else end[0]


def _link(run: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    links: list[dict[str, Any]] = run["path"]["link"]
    return next((link for link in links if link["name"] == name), dict[str, Any]())


def _said(links: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines that are written at a link: rate, delay, queue, and what it loses."""
    lines = [_values([link.get("rate", "") for link in links]), _values([link.get("delay", "") for link in links])]
    lines.append(_values([_queue(link) for link in links]))
    lines.append(_values([_loss(link) for link in links]))
    return [line for line in lines if line]


def _queue(link: Mapping[str, Any]) -> str:
    queue = link.get("queue")
    if not queue:
        policy = link.get("discard", {})
        return f"{policy.get('kind', '')} {policy.get('buffer', '')}".strip()
    # Hosts have room for all unless somebody says otherwise.
    if queue.get("limit") == "1 GiB":
        return ""
    return f"{queue['kind']} {queue.get('limit', '')}".strip()


def _loss(link: Mapping[str, Any]) -> str:
    loss = link.get("loss", {})
    if loss.get("kind", "none") == "none":
        return ""
    share = loss.get("probability")
    return f"loses {share:g}" if isinstance(share, float) else f"loses: {loss['kind']}"


def _values(values: Sequence[str]) -> str:
    """Values of a property in all runs: its value, or the least and the greatest, with what they have in common said once.

    Values that are no numbers of one unit have a first and a last.
    """
    distinct = list(dict.fromkeys(value for value in values if value))
    if len(distinct) < 2:
        return "".join(distinct)
    words = [value.split() for value in distinct]
    before, after = _common(words), _common([list(reversed(some)) for some in words])[::-1]
    # "10 packets" and "10 packets per flow": what begins one is not also what ends the other.
    if min(map(len, words)) <= len(before) + len(after):
        before, after = [], []
    inner = [" ".join(some[len(before) : len(some) - len(after)]) for some in words]
    if numbers := axis_quantity("", inner):
        inner.sort(key=lambda text: numbers[1][text])
    many = f" ({len(distinct)})" if len(distinct) > 2 else ""
    return " ".join([*before, f"{inner[0]} … {inner[-1]}" if many else f"{inner[0]}, {inner[-1]}", *after]) + many


def _common(words: Sequence[Sequence[str]]) -> list[str]:
    """The words that all begin with."""
    made: list[str] = []
    for some in zip(*words, strict=False):
        if len(set(some)) > 1:
            break
        made.append(some[0])
    return made


def _lay_out(nodes: Sequence[Node], edges: Sequence[Edge], start: Node, end: Node, receivers: set[str]) -> None:
    """Columns along the way of the first flow, what hangs at it beside it; rows in the order of the file."""
    around: dict[int, list[Node]] = {}
    for edge in edges:
        for one, other in (edge.ends, edge.ends[::-1]):
            around.setdefault(id(one), []).append(other)
    way = _way(around, start, end)
    column = {id(node): number for number, node in enumerate(way)}
    waiting = list(way)
    while waiting:
        node = waiting.pop(0)
        for other in around.get(id(node), []):
            if id(other) not in column:
                here = column[id(node)]
                # Hosts hang at the outer side; in the middle those that receive are on the right.
                left = other.is_host and (2 * here < len(way) - 1 or (2 * here == len(way) - 1 and not set(other.names) & receivers))
                column[id(other)] = column[id(node)] + (-1 if left else 1)
                waiting.append(other)
    first = min(column.values(), default=0)
    rows: dict[int, int] = {}
    for node in nodes:
        node.column = column.get(id(node), 0) - first
        rows[node.column] = rows.get(node.column, 0) + 1
    at: dict[int, int] = {}
    for node in nodes:
        number = at.get(node.column, 0)
        at[node.column] = number + 1
        node.row = number - (rows[node.column] - 1) / 2


def _way(around: Mapping[int, list[Node]], start: Node, end: Node) -> list[Node]:
    """The shortest way."""
    before: dict[int, Node | None] = {id(start): None}
    waiting = [start]
    while waiting:
        node = waiting.pop(0)
        if node is end:
            break
        for other in around.get(id(node), []):
            if id(other) not in before:
                before[id(other)] = node
                waiting.append(other)
    way: list[Node] = []
    step: Node | None = end if id(end) in before else start
    while step is not None:
        way.append(step)
        step = before[id(step)]
    return way[::-1]


def _at(node: Node, top: float) -> tuple[float, float]:
    return node.column * WIDTH + BOX / 2 + 10, (node.row - top) * HEIGHT + 52


def _node(node: Node, top: float) -> Markup:
    x, y = _at(node, top)
    radius, kind = (5, "host") if node.is_host else (16, "router")
    box = Markup('<rect class="{}" x="{:.0f}" y="{:.0f}" width="{}" height="32" rx="{}"/>').format(kind, x - BOX / 2, y - 16, BOX, radius)
    label = node.label if len(node.label) <= 12 else f"{node.label[:11]}…"
    says = Markup("<title>{}</title>").format(", ".join(node.names[:40]))
    several = Markup('<tspan class="small"> ×{}</tspan>').format(len(node.names)) if len(node.names) > 1 else Markup("")
    if several:
        label = re.sub(r"\d+$", "", node.names[0]) or node.names[0]
    return Markup('<g>{}{}<text x="{:.0f}" y="{:.0f}">{}{}</text></g>').format(says, box, x, y + 4, label, several)


def _fans(edge: Edge) -> list[tuple[int, int]]:
    """Keys of the fans that a link belongs to: each end's node with the column of the other end. Links of one fan lie close together."""
    one, other = edge.ends
    return [(id(one), other.column), (id(other), one.column)]


def _edge(edge: Edge, top: float, *, in_fan: bool) -> Markup:
    (x1, y1), (x2, y2) = _at(edge.ends[0], top), _at(edge.ends[1], top)
    kind = "link bottleneck" if edge.bottleneck else "link"
    line = Markup('<line class="{}" x1="{:.0f}" y1="{:.0f}" x2="{:.0f}" y2="{:.0f}"/>').format(kind, x1, y1, x2, y2)
    if in_fan and not edge.bottleneck:
        # Several links that fan out: their words stand in one line, near where they have come apart.
        part = 0.5 if y1 == y2 else 0.46 if edge.ends[0].is_host else 0.54
        x, y, text = x1 + (x2 - x1) * part, y1 + (y2 - y1) * part, ", ".join(edge.lines)
        return line + Markup('<text class="small" x="{:.0f}" y="{:.0f}">{}</text>').format(x, y - 3, _short(text, MOST_IN_FAN))
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    # Two lines above the link, the others below, where they have more room than between the boxes.
    words = [
        Markup('<text class="small" x="{:.0f}" y="{:.0f}">{}</text>').format(x, y + offset, _short(text))
        for text, offset in zip(edge.lines, (-19, -7, 30, 42), strict=False)
    ]
    return line + Markup("").join(words)


def _short(text: str, most: int = 31) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
