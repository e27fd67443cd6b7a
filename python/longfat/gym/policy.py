"""A policy in numpy: a small network, its file, and the congestion control that it becomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat._longfat import Decider, register_policy
from longfat.control import congestion_control
from longfat.errors import LongfatError
from longfat.gym.settings import Choice, clock, sets
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfat._longfat import Ack, Congestion, Window


@dataclass(frozen=True)
class Policy:
    """A network with tanh in each layer: an observation in, an action from -1 to 1 out.

    `layers` are pairs of a matrix (inputs x outputs) and a vector (outputs); the last has one output. `observe`, `action` and `decide` are
    those of the environment it was trained in.
    """

    layers: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    observe: Sequence[str]
    action: Choice = "cwnd_factor"
    decide: str = "rtt"
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How it was trained; in the file, and not in the hash."""

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Actions for observations of shape (..., fields and masks); shape (...)."""
        values = observations
        for weights, bias in self.layers:
            values = np.tanh(values @ weights + bias)
        return values[..., 0]

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides."""
        hashed = hashlib.sha256(self._header(notes=False).encode())
        for weights, bias in self.layers:
            hashed.update(np.ascontiguousarray(weights, dtype=np.float64).tobytes())
            hashed.update(np.ascontiguousarray(bias, dtype=np.float64).tobytes())
        return hashed.hexdigest()

    def save(self, path: Path | str) -> None:
        """Writes the policy as JSON: weights and settings, readable anywhere."""
        layers = [{"weights": np.asarray(weights).tolist(), "bias": np.asarray(bias).tolist()} for weights, bias in self.layers]
        text = json.dumps(json.loads(self._header(notes=True)) | {"layers": layers}, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Policy:
        """Reads what `save` has written. Raises LongfatError for another file."""
        try:
            read = json.loads(Path(path).read_text(encoding="utf-8"))
            layers = [(np.array(one["weights"], dtype=float), np.array(one["bias"], dtype=float)) for one in read["layers"]]
            return cls(layers, read["observe"], read["action"], read["decide"], read["notes"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LongfatError(f"{path}: no policy of longfat.gym: {error}") from None

    def _header(self, notes: bool) -> str:
        action = dict(self.action) if isinstance(self.action, Mapping) else self.action
        header: dict[str, Any] = {"observe": list(self.observe), "action": action, "decide": self.decide}
        return json.dumps(header | ({"notes": dict(self.notes)} if notes else {}), sort_keys=True)


def control(name: str, policy: Policy | Path | str) -> type:
    """Makes `policy`, or the one in a file, the congestion control `name`, which experiments know from then on.

    It decides as an agent of `Env` does whose flow has `reno`, bit for bit, where `decide` is "rtt" or "ack" and the stack does not pace.
    Each decision holds from the next ACK or timeout on, in recovery and after timeouts, too. Until the first one it is in slow start, and
    ssthresh stays Reno's (RFC 5681). A control knows what its hooks tell: observations from `tcp_info`, actions that need a control beside
    it, choices and layers that do not fit raise LongfatError. A run's identity holds the hash of the weights.

    On the testbed the policy itself decides, and no Python runs: `decide` is "rtt" or a time there.
    """
    learned = policy if isinstance(policy, Policy) else Policy.load(policy)
    action, when = sets(learned.action), clock(learned.decide)
    fields = list(learned.observe)
    if action[2]:
        raise LongfatError(f"an action that sets `{action[0]}` cannot be a control by name: it needs one beside it")
    Decider(1448, fields, action[:2], when)  # raises what is wrong with it now, and not in a run

    class Learned:
        """A policy that was learned in longfat.gym."""

        identity = learned.digest
        steers_itself = True
        window: Window

        def __init__(self) -> None:
            self.pacing_rate: float | None = None
            self._decider = Decider(self.window.mss, fields, action[:2], when)

            self._has_decided = False

        def on_sample(self, ack: Ack) -> None:
            self._decide(self._decider.on_ack(ack, int(self.window.cwnd), self.pacing_rate))

        def on_ack(self, ack: Ack) -> None:
            if not self._has_decided:
                self.window.slow_start(ack)

        def on_congestion(self, event: Congestion) -> None:
            self._decide(self._decider.on_congestion(event, int(self.window.cwnd), self.pacing_rate))
            cwnd = self.window.cwnd
            self.window.reduce(event, 0.5)
            self._hold(cwnd)

        def _hold(self, cwnd: float) -> None:
            """Takes cwnd back to what the policy set; ssthresh stays Reno's (RFC 5681)."""
            if self._has_decided:
                self.window.cwnd = cwnd

        def _decide(self, seen: NDArray[Any] | None) -> None:
            if seen is not None:
                self._has_decided = True
                cwnd, self.pacing_rate = self._decider.act(float(np.clip(learned(seen), -1.0, 1.0)))
                if cwnd is not None:
                    self.window.cwnd = cwnd

        def on_spurious(self) -> None:
            cwnd = self.window.cwnd
            self.window.undo()
            self._hold(cwnd)

        def on_restart(self, idle: float) -> None:
            if not self._has_decided:
                self.window.restart()

    Learned.__module__ = __name__
    made = congestion_control(name=name)(Learned)
    register_policy(name, fields, action[:2], when, [(np.asarray(w).tolist(), np.asarray(b).tolist()) for w, b in learned.layers])
    return made
