"""Loss episodes by kind: what was lost and where, how it was repaired, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longfat.explain.model import Episode, Flow, Sentence, Story
from longfat.explain.words import at, size, span, times
from longfat.text import count

MOST = 5
"""Kinds of episodes told, those of the highest cost."""
MOST_MARKED = 30
"""Later episodes of a kind that the figure marks."""
LEAST_BYTES = 1500
"""Bytes below which a cost is none: a packet."""

REASONS = {
    "dropped_overflow": "{where} dropped {packets}: its queue was full",
    "dropped_early": "the queue of {where} dropped {packets} early, to signal congestion",
    "dropped_loss": "{where} lost {packets} at random",
    "dropped_corrupted": "{where} damaged {packets}",
    "dropped_too_big": "{packets} were larger than the MTU of {where}",
    "dropped_no_memory": "the receiving host had no memory for {packets}",
    "dropped_overrun": "the receiving host could not keep up with {packets}",
    "policed": "the policer of {where} dropped {packets}: the flow was above its rate",
    "lost": "{packets} were lost",
    "": "nothing was lost",
}
"""Sentences by the reason of losses."""


def tell(story: Story) -> Iterator[Sentence]:
    """One sentence per kind of episode: a flow, a way of repair, a reason. The first episode in full, the others in sum."""
    if not story.has_events:
        return
    kinds: dict[tuple[str, str, str], list[tuple[Flow, Episode]]] = {}
    few = len(story.flows) <= MOST
    for flow in story.flows:
        for episode in flow.episodes:
            kinds.setdefault((flow.name if few else "", episode.by, _reason(story, episode)), []).append((flow, episode))
    if not kinds:
        if story.flows:
            yield Sentence("Nothing was lost.")
        return
    ordered = sorted(kinds.items(), key=lambda one: -sum(episode.cost_bytes for _, episode in one[1]))
    for (_, _, reason), found in sorted(ordered[:MOST], key=lambda one: one[1][0][1].start_s):
        yield _sentence(reason, sorted(found, key=lambda one: one[1].start_s))
    if len(ordered) > MOST:
        rest = [episode for _, some in ordered[MOST:] for _, episode in some]
        yield Sentence(f"{count(len(rest), 'more episode')} of other kinds cost {size(sum(one.cost_bytes for one in rest))} together.")


def _reason(story: Story, episode: Episode) -> str:
    reason, where = episode.reason
    return "policed" if any(one.name == where and one.kind == "policer" for one in story.queues) else reason


def _sentence(reason: str, found: Sequence[tuple[Flow, Episode]]) -> Sentence:
    flow, first = found[0]
    number = len(first.losses)
    packets = f"{count(number, 'packet')} of {flow.name}"
    what = REASONS.get(reason, "{packets} were lost ({reason})").format(where=first.reason[1] or "the path", packets=packets, reason=reason)
    if number == 1:
        what = what.replace(f"{packets} were", f"{packets} was")
    text = f"{flow.name} retransmitted at {at(first.told_s)}, and nothing was lost: that was spurious."
    if first.by != "spurious":
        text = f"At {at(first.start_s)} {what}. {_repair(flow, first)}."
    rest = [episode for _, episode in found[1:]]
    if rest:
        several = len({one.name for one, _ in found})
        of = f" of {several} flows" if several > 1 else ""
        packets = sum(len(one.losses) for one in rest)
        lost = f", and lost {count(packets, 'packet')}" if packets else ""
        text += f" {count(len(rest), 'more such episode')}{of} followed {times([one.start_s for one in rest])}{lost}."
    every = [first, *rest]
    moment = first.told_s if first.by == "spurious" else first.start_s
    return Sentence(f"{text} {_cost(every)}", moment, first.end_s, tuple(one.start_s for one in rest[:MOST_MARKED]))


def _repair(flow: Flow, episode: Episode) -> str:
    if episode.by == "timeout":
        timer = _timer(flow, episode)
        done = f" and was done at {at(episode.end_s)}" if at(episode.end_s) != at(timer) else ""
        return f"{flow.name} waited for its retransmission timer until {at(timer)}{done}"
    noticed = f"noticed at {at(episode.told_s)} and " if episode.told_s > episode.start_s else ""
    return f"{flow.name} {noticed}repaired it in {span(max(0.0, episode.end_s - episode.told_s))} by fast retransmit"


def _timer(flow: Flow, episode: Episode) -> float:
    return next(
        (one.at_s for one in flow.recoveries if one.kind == "timeout" and episode.told_s <= one.at_s <= episode.end_s), episode.told_s
    )


def _cost(every: Sequence[Episode]) -> str:
    """Cost of episodes together, in bytes and in time below the rate before."""
    bytes_, below = sum(one.cost_bytes for one in every), sum(one.until_s - one.start_s for one in every)
    who = "It" if len(every) == 1 else "Together they"
    if bytes_ < LEAST_BYTES:
        return f"{who} cost no throughput."
    back = "" if every[-1].is_back else ", and the rate did not come back before the end"
    return f"{who} cost {size(bytes_)} against no loss, with {span(below)} below the rate before{back}."
