"""Settings of an environment: experiment, observation, action, reward and the time of decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat._longfat import Document, Environments, gym_registries, quantity
from longfat.errors import LongfatError
from longfat.experiment import Experiment, load

if TYPE_CHECKING:
    from longfat._longfat import GymEntry

Choice = str | Mapping[str, Any]
"""A name of a registry, or a table with `name` and its parameters: `{"name": "copa", "delta": 0.1}`."""


@cache
def _registries() -> dict[str, list[GymEntry]]:
    return gym_registries()


def observations() -> list[GymEntry]:
    """Every field of an observation: name, summary, source (`hooks` or `tcp_info`), bounds, whether it has a mask."""
    return _registries()["observations"]


def actions() -> list[GymEntry]:
    """Every action: name, summary, source, parameters, and the number of its choices (None: a number from -1 to 1)."""
    return _registries()["actions"]


def rewards() -> list[GymEntry]:
    """Every reward: name, formula, source, parameters."""
    return _registries()["rewards"]


def measures() -> list[GymEntry]:
    """Every measure that a reward of your own may use: name, unit, summary, source."""
    return _registries()["measures"]


@dataclass(frozen=True)
class Settings:
    """Settings as the environments in Rust take them."""

    document: Any
    flows: list[int]
    fields: list[str]
    action: tuple[str, list[tuple[str, float]], bool]
    reward: tuple[str, list[tuple[str, float]]] | None
    function: Callable[..., Any] | None
    clock: float
    steps: int

    @classmethod
    def of(
        cls,
        experiment: Experiment | Path | str,
        flows: Sequence[int],
        observe: Sequence[str] | None,
        action: Choice,
        reward: Choice | Callable[..., Any],
        decide: str,
        steps: int | None,
    ) -> Settings:
        """Reads settings; names and parameters are checked when `environments` makes them."""
        of = experiment if isinstance(experiment, Experiment) else load(experiment)
        if len(set(flows)) != len(flows) or not flows or min(flows) < 0:
            raise LongfatError(f"flows = {list(flows)}: expected numbers of flows, each once")
        if steps is not None and steps < 1:
            raise LongfatError(f"steps = {steps}: expected at least 1, or None")
        fields = [entry["name"] for entry in observations() if entry.get("is_usual")] if observe is None else list(observe)
        if not fields or len(set(fields)) != len(fields):
            raise LongfatError(f"observe = {fields}: expected names of observations, each once")
        function = reward if callable(reward) else None
        return cls(
            Document(of.changed_text, of.name),
            list(flows),
            fields,
            sets(action),
            None if function else _choice("reward", reward),  # type: ignore[arg-type]
            function,
            clock(decide),
            2**63 if steps is None else steps,
        )

    @property
    def choices(self) -> int | None:
        """Number of choices of the action; None: a number from -1 to 1."""
        return None if self.action[2] else next((entry.get("choices") for entry in actions() if entry["name"] == self.action[0]), None)

    @property
    def names(self) -> list[str]:
        """Names of the numbers of an observation: the fields, then their masks."""
        masked = {entry["name"] for entry in observations() if entry.get("has_mask")}
        return self.fields + [f"knows_{name}" for name in self.fields if name in masked]

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Least and greatest value of each number of an observation."""
        bounds = {entry["name"]: entry.get("bounds", (0.0, 1.0)) for entry in observations()}
        pairs = [bounds.get(name, (0.0, 1.0)) for name in self.names]
        return [low for low, _ in pairs], [high for _, high in pairs]

    def environments(self, count: int, threads: int, goes_on: bool) -> Environments:
        """`count` environments; with `goes_on` an episode that ends is followed by the next one in the same step."""
        return Environments(
            self.document, count, self.flows, self.fields, self.action, self.reward, self.clock, self.steps, threads, goes_on
        )


def clock(decide: str) -> float:
    """When decisions are due: 0 at each ACK, -1 once per round trip, else seconds."""
    if decide in ("ack", "rtt"):
        return 0.0 if decide == "ack" else -1.0
    read = quantity(decide)
    if read is None or read[1] != "s" or not 1e-6 <= read[0] <= 1e6:
        raise LongfatError(f'decide = {decide!r}: expected "rtt", "ack" or a time such as "40 ms"')
    return read[0]


def sets(action: Choice) -> tuple[str, list[tuple[str, float]], bool]:
    """An action: its name, its parameters, and whether it is a variable of the flow's own control."""
    if isinstance(action, Mapping) and "set" in action:
        if set(action) != {"set", "least", "most"}:
            raise LongfatError(f'action = {dict(action)}: expected {{"set": NAME, "least": NUMBER, "most": NUMBER}}')
        return str(action["set"]), [(key, _number("action", key, action[key])) for key in ("least", "most")], True
    return (*_choice("action", action), False)


def _choice(what: str, choice: Choice) -> tuple[str, list[tuple[str, float]]]:
    if isinstance(choice, str):
        return choice, []
    if not isinstance(choice, Mapping) or not isinstance(choice.get("name"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LongfatError(f'{what} = {choice!r}: expected a name, or a table such as {{"name": NAME, ...}}')
    return choice["name"], [(key, _number(what, key, value)) for key, value in choice.items() if key != "name"]


def _number(what: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LongfatError(f"{what}: {key} = {value!r}: expected a number")
    return float(value)
