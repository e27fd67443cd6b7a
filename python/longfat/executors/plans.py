"""The plans of an experiment: all of its runs, those of a shard, and those that results ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from longfat._longfat import Document
from longfat.errors import LongfatError
from longfat.executors import shards
from longfat.store import Store, finished_in
from longfat.sweep.adaptive import Decider, Known, Wanted
from longfat.sweep.plan import Items, Plan
from longfat.sweep.work import share_of


class Plans:
    """The plans of a document. Each run is planned once, however often it is asked for."""

    def __init__(self, document: Document, name: str) -> None:
        self._document = document
        self._decider = Decider(document)
        self._name = name
        self._known: dict[tuple[int, int], Plan] = {}

    @property
    def is_adaptive(self) -> bool:
        """True if results decide which runs there are (`[precision]`, `[search]`)."""
        return self._decider.is_adaptive

    @property
    def most_runs(self) -> int:
        """Upper bound of the runs; a `[search]` counts the most values that it can try."""
        return self._decider.most

    def plan(self, store: Store | None = None) -> Plan:
        """The runs, each once. An adaptive sweep wants those that the results in `store` ask for."""
        if store and self.is_adaptive:
            return self._asked(partial(finished_in, store))
        if (1, 1) not in self._known:
            self._known[1, 1] = self._asked(_unfinished)
        return self._known[1, 1]

    def whole(self, tick: Callable[[float], object] = lambda _: None) -> Plan:
        """Every run that there can be. `tick` is told the share that is planned."""
        count = self._document.run_count
        if not self.is_adaptive and (1, 1) in self._known:
            return self._known[1, 1]
        plan = Plan.of(self._document, range(count), share_of(count, tick))
        return plan if self.is_adaptive else self._known.setdefault((1, 1), plan)

    def shard(self, shard: int, of: int) -> Plan:
        """The runs of shard `shard` (from 1) of `of`. Other groups of a large sweep are not planned. LongfatError for an adaptive sweep."""
        if self.is_adaptive:
            deciding = "[search]" if self._document.search else "[precision]"
            raise LongfatError(f"{self._name} has {deciding}: what it runs depends on what runs gave, so it has no shards")
        if (shard, of) not in self._known:
            cut = shards.Cut(self._document.run_count, of)
            group = cut.group(shard - 1)
            plan, members = Plan.of(self._document, cut.numbers(group).tolist()), cut.members(group)
            mine = shards.balanced(plan.items, len(members))[members.index(shard - 1)]
            self._known[shard, of] = replace(plan, items=mine)
        return self._known[shard, of]

    def shards(self, of: int) -> list[Items]:
        """The runs of each of `of` shards, as `shard` has them."""
        return shards.Cut(self._document.run_count, of).split(self.plan().every)

    def missing(self, store: Store) -> Items:
        """The runs that are not finished in `store`."""
        return left(self.plan(store), store)

    def rounds(self, finished: Known, wanted: Wanted | None, do: Callable[[Plan], object]) -> Plan:
        """Does the wanted runs, and again while their results ask for more; the plan of all."""
        ask = wanted or (self._decider.wanted if self.is_adaptive else None)
        done, plan = None, Plan.of(self._document, ask(finished)) if ask else self.plan()
        while done is None or plan.items != done.items:
            do(plan)
            done = plan
            if ask:
                plan = Plan.of(self._document, ask(finished))
        return plan

    def check(self, items: Items) -> None:
        """ExperimentError where this machine cannot do one of these runs in real time, for want of a right or of a congestion control."""
        for item in items.where(items.alone):
            self._document.run(item.number).check()

    def _asked(self, finished: Known) -> Plan:
        return Plan.of(self._document, self._decider.wanted(finished))


def left(plan: Plan, store: Store) -> Items:
    """The runs of `plan` that are not finished in `store`. Which ones are is not held while the others run."""
    rest = plan.items.without(store.whole(plan.items.as_set))
    store.unload()
    return rest


def _unfinished(_: str) -> None:
    """The result of a run where nothing was run."""
