"""A drawing of the path, as inline SVG: hosts and routers from left to right, links with what they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from longfat._longfat import quantity
from longfat.plot.units import STEPS, Unit, with_unit
from longfat.results.results import axis_quantity

ROW, LINE, LETTER = 62, 13, 6.3
"""From one row of boxes to the next, from one line of small text to the next, and the width of a small letter, in pixels."""
HIGH = 40
"""Height of a box: a name, and for a host what its link is."""
LEAST_GAP = 70
"""Pixels between two columns at least."""
LEAST_WIDE = 640
"""Pixels to which a wide drawing is shrunk at most; then it scrolls."""
MOST_LETTERS = 34
"""Letters of a line of text at most."""
BESIDE = 2
"""Hosts above and below a router."""
MOST_NODES = 24
"""More cannot be read, and are not drawn."""


@dataclass
class Node:
    """A host or router, or several hosts of one kind at one place."""

    names: list[str]
    is_host: bool
    column: int = 0
    row: float = 0.0
    link: str = ""
    """Facts of its only link, which stand in its box: beside a link that fans out there is no room."""

    @property
    def label(self) -> str:
        """Name of the node; for several, what their names begin with, and how many there are."""
        first = self.names[0]
        label = first if len(self.names) == 1 else f"{re.sub(r'[0-9]+$', '', first) or first} ×{len(self.names)}"
        return _short(label, 18)

    @property
    def width(self) -> float:
        """Width of its box."""
        return max(74, LETTER * 1.15 * len(self.label) + 16, LETTER * len(self.link) + 16)


@dataclass
class Edge:
    """A link between two nodes, and what is written at it."""

    ends: tuple[Node, Node]
    bottleneck: bool
    lines: list[str] = field(default_factory=list[str])


def path_drawing(runs: Sequence[Mapping[str, Any]], *, tall: bool = False) -> Markup:
    """The path of resolved experiments that are runs of one sweep. Values show what differs between them.

    From left to right, or where `tall` from top to bottom, for a phone. Empty where the path has more than 24 places.
    Empty between real hosts, too.
    """
    nodes, edges = _network(runs)
    if not nodes or len(nodes) > MOST_NODES:
        return Markup("")
    places, wide, high = (_tall if tall else _wide)(nodes, edges)
    parts = [_edge(edge, places, tall=tall) for edge in edges] + [_node(node, *places[id(node)]) for node in nodes]
    says = "; ".join(f"{edge.ends[0].label} to {edge.ends[1].label}: {', '.join(edge.lines)}" for edge in edges)
    size = 'viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" style="min-width: {:.0f}px"'
    head = f'<svg class="path {{}}" role="img" aria-label="{{}}" {size}>'
    least = wide if tall else min(wide, LEAST_WIDE)
    start = Markup(head).format("tall" if tall else "wide", f"The path. {says}", wide, high, wide, high, least)
    return start + Markup("").join(parts) + Markup("</svg>")


Places = dict[int, tuple[float, float]]
"""Centre of each node, by its `id`."""


def _wide(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[Places, float, float]:
    """Columns from left to right, as far apart as what is written between them is wide; and the size of it all."""
    columns = range(max(node.column for node in nodes) + 1)
    widths = [max((node.width for node in nodes if node.column == column), default=74) for column in columns]
    x: list[float] = []
    left = 10.0
    for column in columns:
        x.append(left + widths[column] / 2)
        between = [edge for edge in edges if min(end.column for end in edge.ends) == column]
        letters = max((len(line) for edge in between for line in _written(edge)), default=0)
        left += widths[column] + max(LEAST_GAP, LETTER * letters + 16)
    top, bottom = min(node.row for node in nodes), max(node.row for node in nodes)
    places = {id(node): (x[node.column], (node.row - top) * ROW + 2 * LINE + HIGH / 2) for node in nodes}
    return places, x[-1] + widths[-1] / 2 + 10, (bottom - top) * ROW + 4 * LINE + HIGH


def _tall(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[Places, float, float]:
    """Columns from top to bottom; and the size of it all."""
    columns = range(max(node.column for node in nodes) + 1)
    gap = LINE * max((len(_written(edge)) for edge in edges), default=0) + 30
    rows = [sorted((node for node in nodes if node.column == column), key=lambda node: node.row) for column in columns]
    # A router on the way is in the middle of its row, so that the links between routers are upright.
    widths = [sum(node.width + 10 for node in row) for row in rows]
    before, after = ([sum(node.width + 10 for node in row if sign * node.row > 0) for row in rows] for sign in (-1, 1))
    uneven = [right - left if _middle(row) else 0.0 for row, left, right in zip(rows, before, after, strict=True)]
    wide = max(width + abs(more) for width, more in zip(widths, uneven, strict=True)) + 10
    places: Places = {}
    for column, (row, width, more) in enumerate(zip(rows, widths, uneven, strict=True)):
        left = (wide - width + more) / 2 + 5
        for node in row:
            places[id(node)] = (left + node.width / 2, column * (HIGH + gap) + HIGH / 2 + 6)
            left += node.width + 10
    # Text stands to the right of each link.
    ends = [places[id(edge.ends[0])][0] / 2 + places[id(edge.ends[1])][0] / 2 for edge in edges]
    letters = [max(map(len, _written(edge)), default=0) for edge in edges]
    wide = max([wide, *(end + 10 + LETTER * count for end, count in zip(ends, letters, strict=True))])
    return places, wide, len(columns) * (HIGH + gap) - gap + 12


def _middle(row: Sequence[Node]) -> bool:
    return any(not node.is_host and node.row == 0 for node in row)


def _written(edge: Edge) -> list[str]:
    """Lines beside a link: none where they stand in the box of its host."""
    return [] if any(end.link for end in edge.ends) else [_short(line, MOST_LETTERS) for line in edge.lines]


def _network(runs: Sequence[Mapping[str, Any]]) -> tuple[list[Node], list[Edge]]:
    if any("path" not in run for run in runs):
        # Between real hosts nobody knows the path.
        return [], []
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
    for node in nodes:
        own = [edge for edge in edges if node in edge.ends]
        if node.is_host and len(own) == 1 and not own[0].bottleneck and not all(end.is_host for end in own[0].ends):
            node.link = _short(", ".join(own[0].lines), MOST_LETTERS)
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
    lines = [_values([_plain(link.get(key, "")) for link in links]) for key in ("rate", "delay")]
    lines.append(_values([_queue(link) for link in links]))
    lines.append(_values([_loss(link) for link in links]))
    return [line for line in lines if line]


def _queue(link: Mapping[str, Any]) -> str:
    queue = link.get("queue")
    if not queue:
        policy = link.get("discard", {})
        return f"{policy.get('kind', '')} {_plain(policy.get('buffer', ''))}".strip()
    # Hosts have room for all unless somebody says otherwise.
    if queue.get("limit") == "1 GiB":
        return ""
    return f"{queue['kind']} {_plain(queue.get('limit', ''))}".strip()


def _plain(said: str) -> str:
    """A quantity of a resolved experiment as a person would type it: `16 MB` for `15625 KiB`, `9.667 ms` for `9.666666667 ms`."""
    read = quantity(said)
    unit = UNITS.get(read[1]) if read else None
    if read is None or unit is None:
        return said
    if read[0] == 0:
        return f"0 {STEPS[unit[0]][0][0]}" if unit[0] == "s" else said
    return min((with_unit(read[0], one, 4) for one in unit), key=len)


def _loss(link: Mapping[str, Any]) -> str:
    loss = link.get("loss", {})
    if loss.get("kind", "none") == "none":
        return ""
    share = loss.get("probability")
    return f"loses {share:g}" if isinstance(share, float) else f"loses: {loss['kind']}"


UNITS: dict[str, tuple[Unit, ...]] = {"bytes": ("B", "iB"), "s": ("s",), "bps": ("bit/s",)}
"""Units of the quantities of an experiment."""


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
    inner = {id(node) for node in way[2:-2]}
    while waiting:
        node = waiting.pop(0)
        beside = 0
        for other in around.get(id(node), []):
            if id(other) not in column:
                here = column[id(node)]
                # Two hosts at a router within the way stand above and below it: their links cross no words.
                if id(node) in inner and other.is_host and beside < BESIDE:
                    beside += 1
                    column[id(other)] = here
                    waiting.append(other)
                    continue
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
    # A router on the way keeps to the middle row, so that the links between routers are level; the others are above and below.
    for router in (node for node in way if not node.is_host):
        others = [node for node in nodes if node.column == router.column and node is not router]
        router.row = 0
        for number, node in enumerate(others):
            node.row = (number // 2 + 1) * (-1 if number % 2 else 1)


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


def _node(node: Node, x: float, y: float) -> Markup:
    radius, kind, width = (5, "host", node.width) if node.is_host else (16, "router", node.width)
    box = Markup('<rect class="{}" x="{:.0f}" y="{:.0f}" width="{:.0f}" height="{}" rx="{}"/>')
    says = Markup("<title>{}</title>").format(", ".join(node.names[:40]))
    drawn = box.format(kind, x - width / 2, y - HIGH / 2, width, HIGH, radius)
    name = Markup('<text x="{:.0f}" y="{:.0f}">{}</text>').format(x, y - 3 if node.link else y + 4, node.label)
    link = Markup('<text class="small" x="{:.0f}" y="{:.0f}">{}</text>').format(x, y + 12, node.link) if node.link else Markup("")
    return Markup("<g>{}{}{}{}</g>").format(says, drawn, name, link)


def _edge(edge: Edge, places: Places, *, tall: bool) -> Markup:
    (x1, y1), (x2, y2) = places[id(edge.ends[0])], places[id(edge.ends[1])]
    kind = "link bottleneck" if edge.bottleneck else "link"
    line = Markup('<line class="{}" x1="{:.0f}" y1="{:.0f}" x2="{:.0f}" y2="{:.0f}"/>').format(kind, x1, y1, x2, y2)
    x, y, lines = (x1 + x2) / 2, (y1 + y2) / 2, _written(edge)
    if tall:
        start = y + 4 - LINE * (len(lines) - 1) / 2
        words = [
            Markup('<text class="small beside" x="{:.0f}" y="{:.0f}">{}</text>').format(x + 8, start + LINE * number, text)
            for number, text in enumerate(lines)
        ]
    else:
        # Two lines above the link, the others below.
        words = [
            Markup('<text class="small" x="{:.0f}" y="{:.0f}">{}</text>').format(x, y + offset, text)
            for text, offset in zip(lines, (-8 - LINE, -8, 17, 17 + LINE), strict=False)
        ]
    return line + Markup("").join(words)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
