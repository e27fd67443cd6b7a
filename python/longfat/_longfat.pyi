"""The native part: parses experiments and runs them. Private; `longfat` is the public face."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Literal, NotRequired, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__version__: str
RESULTS_VERSION: int
"""Part of a run's identity: raised when the same experiment gives other numbers."""
CODE: str
"""Fingerprint of the sources that decide what a run gives; for provenance."""
METRICS: str
"""Fingerprint of the sources of the metrics: tables made with another one are made anew."""
COMMIT: str
"""Git commit of the build, with `+` where the tree had changes; empty where there was no git."""
HAS_BPF: bool
"""True if it was built with the controls for the kernel."""

Column = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | list[str]
Table = dict[str, Column]
Planned = tuple[bytes, NDArray[np.float64], NDArray[np.uint64], NDArray[np.bool_], list[str], list[tuple[str, str, int, list[int]]]]

StepArrays = tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.uint8], NDArray[np.float64]]
"""One row per environment: observations, rewards, whether it goes on (0), is done (1) or cut off (2), and measures."""

class Param(TypedDict):
    name: str
    kind: str
    default: str
    doc: str

class Entry(TypedDict):
    name: str
    summary: str
    source: str
    params: list[Param]
    advice: NotRequired[str]
    """Advice on a warning: what to do."""
    bound: NotRequired[tuple[float, float]]
    """Least and greatest value that a metric can have in any network; infinity where there is none."""
    promises: NotRequired[list[tuple[str, str]]]
    """Claims of a queue or a congestion control, each with its source."""
    router: NotRequired[str]
    """Queue that the bottlenecks of a congestion control need; empty where any does."""

class Expectation(TypedDict):
    """Expectation of a packet script, and its outcome."""

    line: int
    column: int
    what: str
    """Words of the script: a packet, a call, an assertion."""
    verdict: Literal["pass", "fail", "not supported", "error"]
    message: str | None
    details: list[str]
    """Expected and got, and the packets before."""

class ScriptReport(TypedDict):
    file: str
    ip_version: Literal["ipv4", "ipv6", "ipv4-mapped-ipv6"]
    verdict: Literal["pass", "fail", "not supported", "error"]
    line: int | None
    """Line at which it failed, or at which what it needs is written; counted from 1."""
    column: int | None
    message: str | None
    details: list[str]
    """Expected and got, and the packets before."""
    expectations: list[Expectation]
    """Each, in order, up to where the script ended; with `all`, up to its end."""
    warnings: list[tuple[int, str]]
    """Expectations that were asked for twice and which hold, with their lines."""
    notes: list[tuple[int, str]]
    """Lines that were read and passed over."""
    printed: list[str]

class Given(TypedDict):
    """A warning that is given, once for all that differ in numbers alone; see docs/warnings.md."""

    name: str
    text: str
    count: int
    """How many there are like it in the run."""

InBytes = tuple[int, bytes, list[bytes]]
"""Rows of a table: how many; the cells of the columns that are not of words, 8 bytes each, one column behind the other; and each column
of words, with a NUL between two."""

class Tables(TypedDict):
    """Output of a run as users see it: every metric in the rows of what it is about. `Trace.table` gives the tables without metrics."""

    metrics: dict[str, float]
    flows: Table
    links: Table
    hosts: Table
    end_s: float
    steps: int
    real_time: dict[str, float]
    """Exactness of a run in real time; empty for a run in virtual time."""
    verdict: str | None
    """Verdict on a run in real time."""
    control_from: str | None
    """Origin of the congestion controls of a run in a kernel."""
    warnings: list[Given]

class ColumnEntry(TypedDict):
    name: str
    """Name as shown."""
    stored: str | None
    """Name as stored; None where the column is made from other columns."""
    unit: str
    doc: str
    form: Literal["count", "count or none", "time", "number", "word"]
    is_shown: bool

class Trace:
    """Record of a run, to the last bit."""

    missing: list[str]
    """Columns that it was restored without."""
    is_cut: bool
    """True if the run, between real hosts, was stopped or lost before its end."""
    lost: str | None
    """Sentence about how the far host or the path was lost; None of a trace that was restored."""
    def tables(self) -> Tables:
        """Returns the tables as users see them."""
    def table(self, name: str, most: int | None = None) -> Table:
        """A table as users see it, without metrics. KeyError where there is none.

        Of a series with more rows than `most` about so many: whole samples, evenly spread, and the last.
        """
    def stored(self) -> dict[str, Table]:
        """Returns everything, by table and column: whole numbers as uint64 (none is 2^64 - 1; times are picoseconds), floats, or words."""
    def once(self) -> dict[str, int | None]:
        """Returns the values of `stored` that there are once for a run: plain values, None where there is none."""
    warnings: list[Given]
    """Warnings of the run."""
    def kept(self, head: bytes, most: int) -> tuple[str, dict[str, InBytes] | None]:
        """SHA-256 of `head` and of all of `stored`; and the latter, by table, where it has rows.

        Not the latter where it has more than `most` cells.
        """
    def pieces(self, name: str) -> tuple[int, int]:
        """How many rows a table has, and of how many pieces: of more than one only where it is large. KeyError where there is none."""
    def piece(self, name: str, number: int) -> InBytes:
        """A piece of a table, of some MB. KeyError, IndexError where there is none."""
    def capture(self, path: str | PathLike[str], at: str, comment: str, snap: int) -> int:
        """Writes a capture; how many packets it has. Raises longfat.errors.CaptureError, OSError."""
    @staticmethod
    def restore(resolved: str, stored: Mapping[str, Iterable[Table]]) -> Trace:
        """From what `stored` gave, each table in any number of pieces, and the run as resolved.

        Raises longfat.ExperimentError where that is not valid, ValueError, and OSError where what is too large for memory has no room.
        """

def tables_of_all(
    runs: Sequence[tuple[int | None, str, str, str, str]], tables: Sequence[tuple[str, Table, Sequence[int]]], document: Document | None
) -> tuple[
    list[tuple[bytes, list[Given]] | None],
    dict[str, dict[str, Column | tuple[NDArray[np.int32], list[str]]]],
    dict[str, NDArray[np.int64]],
]:
    """The tables that users see (`runs`, `flows`, `links`, `hosts`) of runs whose rows stand one behind the other.

    Of each run its number in `document` where it is known to be one of that (which is faster), what it resolved to, its digest and
    what `finished.around_resolved` gives; of each table (`run` too, of which each has a row) its name, columns and how many rows of it are
    each run's. ValueError where that does not fit.

    Gives of each run a digest of its metrics and its warnings; then by table its columns, of words the place of each in a list (-1 for
    none) and that list; then by table how many rows each run has. None, and no rows, for a run that is not what was written, of which no
    trace can be made, or that was stored without columns that there are now.
    """

def check_all(runs: Sequence[tuple[int | None, str, str, str, str]], tables: Sequence[tuple[str, Table, Sequence[int]]]) -> list[bool]:
    """Which of these runs are what was written. Takes what `tables_of_all` takes."""

def columns() -> dict[str, list[ColumnEntry]]:
    """Every recorded column of results, by table."""

class Document:
    """An experiment file, parsed and checked."""

    def __new__(cls, text: str, file: str) -> Document:
        """Raises longfat.ExperimentError; `file` is for its messages."""
    text: str
    """Text as one file: as it was given, or the file that one with a `base`, or a changed one, comes to."""
    title: str
    expected: list[str]
    """Names of warnings under `expect`."""
    asked: list[str]
    """Names of warnings about what an axis varies."""
    axes: list[tuple[str, list[str]]]
    """Name and values of each axis, as in the file; the last turns fastest."""
    run_count: int
    """How many runs there are: combinations that are not skipped, times the repeats."""
    repeats: int
    """Runs of each combination; the most there may be where there is `precision`."""
    precision: tuple[str, float, bool, int] | None
    """Metric, within, whether that is of the mean, and the least repeats."""
    search: tuple[int, str, float, bool] | None
    """Place of the axis, metric, bound, and whether the metric is to be at least that (else at most)."""
    def choice(self, combination: int) -> list[int]:
        """Which value of each axis combination `combination` of `run_count // repeats` has; raises IndexError."""
    def labels(self, combination: int) -> list[tuple[str, str]]:
        """Name and value of each axis in combination `combination`; raises IndexError."""
    def set(self, path: str, value: str) -> None:
        """Replaces the value at `path` (`flow[0].window`) by TOML, a word or a quantity; raises ExperimentError."""
    def quick(self) -> Document | None:
        """With what the file says under `quick` changed; None where it says nothing."""
    def run(self, index: int) -> Run:
        """Run `index` of `run_count`, resolved; raises longfat.ExperimentError."""
    def plan(self, numbers: Sequence[int]) -> Planned:
        """The runs of these numbers, at a third of what it costs to resolve each.

        Their hashes (32 bytes each), costs and seeds, and whether each is in real time; the names of all backends; and what can be told
        before they are run: name, text, count, and the places in `numbers` of the runs that have it. Raises IndexError, and
        longfat.ExperimentError of the first that has a fault.
        """

class Run:
    """One run, resolved."""

    labels: list[tuple[str, str]]
    """The value of each axis."""
    index: int
    """Its number in the document."""
    repeat: int
    seed: int
    hash: str
    """Hash of everything that decides the outcome: the backend, the run as resolved, RESULTS_VERSION."""
    backend: str
    is_real_time: bool
    """True if it takes the time it is about, and so has the machine to itself."""
    spread_s: float
    """Least time from the begin of a repeat to that of the next (`[live] spread`)."""
    resolved: str
    """Resolved run, as JSON."""
    warnings: list[Given]
    """Warnings that can be given before it is run."""
    cost: float
    """About how many packets pass how many links: proportional to the time the run takes."""
    def check(self) -> None:
        """ExperimentError where its backend cannot run it here and now, as far as that can be told without starting it."""
    def execute(
        self,
        progress: Callable[[float], object] | None = None,
        watch: Callable[[float, list[tuple[int, bool, int, dict[str, int]]]], object] | None = None,
    ) -> Trace:
        """Runs it without the GIL. `progress` hears the share done ten times per second; what it raises ends it.

        `watch` hears the time of the run (s), and the TCP flows at this host while they run between real hosts: number, whether this host
        sends, bytes of payload (acknowledged where it sends, else read), and the fields of `TCP_INFO` in the kernel's units.
        """

class FlowEntry(TypedDict):
    """A flow at one instant. Bytes of payload, seconds, bits per second."""

    flow: int
    cwnd: int
    ssthresh: int | None
    """None while there is no bound."""
    pacing_rate: float | None
    """None where ACKs clock the segments."""
    in_flight: int
    rwnd: int
    """The window the peer advertised."""
    mss: int
    srtt: float
    rttvar: float
    rto: float
    lost: int
    """Segments outstanding that are called lost."""
    bytes_delivered: int
    """Total so far, at the receiver."""
    bytes_retransmitted: int

class QueueEntry(TypedDict):
    """The queue in front of a one-way link at one instant, and totals of the link so far."""

    link: int
    name: str
    backlog_packets: int
    backlog_bytes: int
    wire_bytes: int
    drops: int
    marks: int

class Simulation:
    """A run at one instant; `longfat.Simulation` is its public face."""

    def __new__(cls, run: Run) -> Simulation:
        """Raises longfat.ExperimentError."""
    now: float
    done: bool
    was_steered: bool
    flow_count: int
    def advance(self, until_s: float) -> None:
        """Up to and including `until_s`; raises what a hook raises."""
    def flows(self) -> list[FlowEntry]:
        """Every flow now."""
    def queues(self) -> list[QueueEntry]:
        """Every one-way link now."""
    def hold_cwnd(self, flow: int, bytes: int | None) -> bool:
        """Returns true if the flow has a window to hold."""
    def hold_pacing_rate(self, flow: int, bps: int | None) -> bool:
        """Returns true if the flow has a rate to hold."""
    def finish(self) -> Trace:
        """Runs to the end. Nothing can be done with it then."""

class Environments:
    """Learning environments side by side; `longfat.gym` is their public face."""

    def __new__(
        cls,
        document: Document,
        count: int,
        flows: list[int],
        fields: list[str],
        action: tuple[str, list[tuple[str, float]], bool],
        reward: tuple[str, list[tuple[str, float]]] | None,
        clock: float,
        steps: int,
        threads: int,
        goes_on: bool,
    ) -> Environments:
        """Raises longfat.LongfatError for a name or a number that is none."""
    width: int
    """How many numbers an observation has."""
    def reset(self, places: list[int], seeds: list[int | None], run: int | None) -> StepArrays:
        """Begins an episode in the environments of these numbers."""
    def step(self, actions: NDArray[np.float64]) -> tuple[StepArrays, list[tuple[int, list[float], list[float]]]]:
        """One action per agent. Also the number, last observations and last measures of each episode that another one follows."""
    def runs(self) -> list[int | None]:
        """Number of each environment's run; None without an episode."""

class Decider:
    """Observations and actions of a policy inside a congestion control."""

    def __new__(cls, mss: int, fields: list[str], action: tuple[str, list[tuple[str, float]]], clock: float) -> Decider:
        """Raises longfat.LongfatError for what a control by name cannot observe or set."""
    def on_ack(self, ack: Ack, cwnd: int, pacing_rate: float | None) -> NDArray[np.float32] | None:
        """The observation of a decision that was due before this ACK."""
    def on_congestion(self, event: Congestion, cwnd: int, pacing_rate: float | None) -> NDArray[np.float32] | None:
        """The observation of a decision that was due before this reduction."""
    def act(self, action: float) -> tuple[int | None, float | None]:
        """Window in bytes and pacing rate in bit/s that an action sets."""

class Window:
    """The window of a congestion control written in Python, in bytes; it does what the windows of longfat's own controls do."""

    cwnd: float
    """The congestion window; at least one mss, at most 1 GiB. Reads as a whole number."""
    ssthresh: float | None
    """The slow start threshold, at least two mss; None while there is none."""
    mss: int
    """Payload of a full segment."""
    segments: float
    """cwnd in segments of one mss."""
    in_slow_start: bool
    """True if cwnd is below ssthresh."""
    def slow_start(self, ack: Ack) -> bool:
        """Below ssthresh: grows as the stack's slow start does. Whether it did; if not, congestion avoidance is yours."""
    def increase(self, ack: Ack, segments: float) -> None:
        """Additive increase: `segments` for each window acknowledged."""
    def grow(self, bytes: float) -> None:
        """Grows by `bytes`, or shrinks to no less than two segments; fractions of a byte add up."""
    def acked_segments(self, ack: Ack) -> float:
        """Segments that this ACK stands for."""
    def move_to(self, bytes: float) -> None:
        """To `bytes`, by your own choice and not for a loss. Ends slow start."""
    def reduce(self, event: Congestion, factor: float) -> None:
        """Sets ssthresh to in-flight data times `factor`, and cwnd to ssthresh; after a timeout to one segment (RFC 5681)."""
    def reduce_to(self, event: Congestion, ssthresh: float) -> None:
        """Reduces as `reduce` does, to a threshold of your own choice."""
    def undo(self) -> bool:
        """Takes the last reduction back, since it was spurious. Returns true if there was one."""
    def restart(self) -> None:
        """Back to the initial window."""
    def syn_loss(self) -> None:
        """One segment."""

class Ack:
    """Facts of one ACK. Bytes of payload, seconds, bits per second."""

    now: float
    """Time of the ACK."""
    acked: int
    """Newly acknowledged, cumulatively."""
    delivered: int
    """Newly known to have arrived, by SACK too."""
    marked: int
    """Bytes marked CE, of `delivered`; zero under classic ECN, which does not say."""
    in_flight: int
    """Before this ACK."""
    rtt: float | None
    """A round trip measured by this ACK."""
    srtt: float
    """Smoothed round trip; 0 before the first."""
    rtt_min: float
    """The least of the connection so far; 0 before the first."""
    forward_delay: float | None
    """One-way delay, up to a constant."""
    round: int
    """Round trips so far, counted in packets."""
    cwnd_limited: bool
    """True if cwnd is what kept the sender from sending more."""
    after_timeout: bool
    """True in slow start after a timeout (RFC 3465 section 2.3)."""
    in_recovery: bool
    """True during fast recovery."""
    delivery_rate: float | None
    """Delivery rate, where the class says `wants_rate = True`."""
    app_limited: bool
    """True if the application, not the window, limited what the delivery rate measures."""

class Congestion:
    """Why the window must shrink."""

    now: float
    """Time of the event."""
    kind: Literal["loss", "timeout", "timeout_again", "ecn", "local"]
    """A loss, a timeout, the same timeout again, an ECN mark, or a full queue of the host."""
    flight_size: int
    """Bytes sent and not acknowledged (RFC 5681)."""

def register_policy(
    name: str,
    fields: list[str],
    action: tuple[str, list[tuple[str, float]]],
    clock: float,
    layers: list[tuple[list[list[float]], list[float]]],
) -> None:
    """Gives the control `name` the policy it was made of, for the testbed; raises longfat.LongfatError for layers that do not fit."""

def register_control(name: str, summary: str, source: str, class_: type, claims: list[tuple[str, float, float]]) -> None:
    """Makes a class a congestion control with claims (name, least, most); raises longfat.LongfatError for a name that longfat has."""

def conformance_checks(name: str) -> list[tuple[str, str, str | None]]:
    """Each rule and each claim, what a run showed of it, and None or why it is not kept."""

class CongestionControl:
    """A congestion control by itself, stepped by hand: no sender, no network, only its hooks.

    What a sender of a bulk transfer would know is kept here unless it is told: time, what is in flight (cwnd), the rounds,
    srtt, the least round trip. So this is one flow in slow start, an ACK a segment:

        cc = longfat.CongestionControl("cubic")
        while cc.round <= 3:
            cc.on_ack(rtt=0.07)

    Bytes are of the payload, times in seconds, rates in bits per second of payload.
    """

    def __new__(cls, name: str, mss: int = 1448, **params: float | str | bool) -> CongestionControl:
        """`name` as `longfat list congestion_controls` has it; `mss` in bytes.

        `params` are the control's own, and of TCP's `initial_window`, `initial_ssthresh`, `slow_start`, `max_ssthresh`,
        `abc_limit`, `extra_increment`: as in an experiment file ("4 MiB"), or plain numbers of bytes, segments, seconds,
        bits per second. Raises LongfatError.
        """
    name: str
    """Name of the control."""
    mss: int
    """Payload bytes of a segment."""
    cwnd: int
    """The congestion window, in bytes."""
    ssthresh: int | None
    """The slow start threshold, in bytes; None while there is none."""
    pacing_rate: float | None
    """Bits per second; None where ACKs clock the segments."""
    now: float
    """Seconds: the time of the last call."""
    round: int
    """Round trips so far, counted in packets."""
    srtt: float
    """The smoothed round trip in seconds; 0 before the first."""
    rtt_min: float
    """The least round trip in seconds; 0 before the first."""
    state: dict[str, float | int | bool | None]
    """The control's own state by name: windows in bytes or, where its paper has them so, in segments, times in seconds, rates in bits
    per second of payload. None where it has no value yet, or no bound. `docs/by-hand.md` lists the names."""
    def get(self, name: str) -> float | int | bool | None:
        """The value of `name` in `state`. Raises LongfatError where there is none of that name now."""
    def set(self, **values: float) -> None:
        """Sets variables of `state`, in the order given. Nothing else changes, and no time passes.

        Raises LongfatError for a name that is none now, and a value that cannot be; those before it are set.
        """
    def on_ack(
        self,
        acked: int | None = None,
        rtt: float | None = None,
        now: float | None = None,
        *,
        delivered: int | None = None,
        marked: int = 0,
        in_flight: int | None = None,
        forward_delay: float | None = None,
        delivery_rate: float | None = None,
        round: int | None = None,
        cwnd_limited: bool = True,
        in_recovery: bool = False,
    ) -> None:
        """An ACK for `acked` bytes (by default one mss) that measured a round trip of `rtt` seconds (by default none).

        `now` is in seconds; by default as much later as `acked` is a part of a window that takes `rtt`. `delivered` (by
        default `acked`) and `marked` (CE) are bytes, `in_flight` those before the ACK (by default cwnd). `forward_delay` is
        the one-way delay in seconds, up to a constant; `delivery_rate` in bits per second (by default what is in flight,
        each srtt). With `in_recovery` the control only hears of it, and does not grow. Raises LongfatError.
        """
    def on_congestion(self, kind: str = "loss", now: float | None = None, *, flight_size: int | None = None) -> None:
        """Congestion: `loss`, `timeout`, `timeout_again` (without progress since the last), `ecn` or `local` (send stall).

        `flight_size` is what is in flight, in bytes (by default cwnd). Raises LongfatError.
        """
    def on_recovered(self, now: float | None = None) -> None:
        """Fast recovery is over."""
    def on_spurious(self) -> None:
        """The last reduction was for nothing."""
    def on_restart(self, idle: float) -> None:
        """Sending starts again after `idle` seconds, more than an rto."""
    def on_syn_loss(self) -> None:
        """The SYN was lost."""

class GymEntry(TypedDict):
    name: str
    summary: str
    source: str
    params: list[tuple[str, float, str]]
    bounds: NotRequired[tuple[float, float]]
    """Least and greatest value of a field of an observation."""
    has_mask: NotRequired[bool]
    is_usual: NotRequired[bool]
    choices: NotRequired[int | None]
    """Number of choices of an action; None: a number from -1 to 1."""
    unit: NotRequired[str]

def gym_registries() -> dict[str, list[GymEntry]]:
    """Registries of `longfat.gym`: observations, actions, rewards and measures."""

def registries() -> dict[str, list[Entry]]:
    """Everything that can be named in an experiment, and the metrics, by kind."""

def read_text(path: str | PathLike[str]) -> str:
    """The text of a file that the user names; raises OSError where it is none, is not a regular file, or is longer than 32 MiB."""

def run_script(
    text: str,
    file: str,
    *,
    ip_version: str | None = None,
    settings: list[tuple[str, str]] = ...,
    verbose: bool = False,
    init_scripts: list[str] = ...,
    all: bool = False,
) -> ScriptReport:
    """Runs a packet script against a TCP endpoint, in virtual time; `file` is where it is, and what the report calls it.

    `ip_version` is for a script that does not say its own. Under IPv6 the MTU is then 20 bytes larger, so that the mss is the same. With
    `all` the script goes on after what is not as expected.
    """

def schema() -> str:
    """The JSON Schema of experiment files."""

def student_t(probability: float, freedom: float) -> float:
    """The value below which Student's t with so many degrees of freedom lies with this probability; NaN where there is none."""

def quantity(text: str) -> tuple[float, str] | None:
    """`"64 KiB"` as (65536.0, "bytes"), `"8"` as (8.0, "number"); None where the text is no number of a known unit."""

def cc_list() -> list[tuple[str, Literal["kernel", "loaded", "set"]]]:
    """Every control that the kernel has or could have of ours: its name there, and whose it is."""

def cc_load(name: str, params: list[tuple[str, str]]) -> str:
    """Registers a control with the kernel, with these parameters of its own; its name there. Raises LongfatError where that cannot be."""

def cc_unload(name: str, force: bool) -> str:
    """Takes a control from the kernel, one in use only by `force`; its name there. Raises LongfatError where that cannot be."""

@final
class Capture:
    """One or more captures read as one."""

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Connections that were kept, by number: those with the most data."""
    @property
    def files(self) -> tuple[CaptureFile, ...]:
        """Files, in the order given."""
    @property
    def left_out(self) -> int:
        """Connections that were not kept."""
    @property
    def left_out_bytes(self) -> int:
        """Payload of the connections that were not kept."""
    @property
    def start_s(self) -> float | None:
        """Time of the first packet, in s since 1970; None without a packet."""
    @property
    def duration_s(self) -> float:
        """Time from the first packet to the last."""
    def json(self) -> str:
        """All of it as JSON, in which `source` and `destination` of a connection are `from` and `to`."""

@final
class CaptureFile:
    """A file of a capture."""

    @property
    def name(self) -> str:
        """Path as given."""
    @property
    def frames(self) -> int:
        """Frames in it."""
    @property
    def tcp(self) -> int:
        """Frames that hold TCP."""
    @property
    def not_tcp(self) -> int:
        """Frames that hold something else."""
    @property
    def unreadable(self) -> int:
        """Frames that were cut, malformed, fragments, or of an unknown link type."""
    @property
    def notes(self) -> tuple[str, ...]:
        """Defects of the file, as sentences."""

@final
class Connection:
    """A TCP connection. The direction with more data is described; its data go from `source` to `destination`."""

    @property
    def number(self) -> int:
        """From 0, in the order of first packets."""
    @property
    def source(self) -> str:
        """Address and port of the end that sent the data."""
    @property
    def destination(self) -> str:
        """Address and port of the other end."""
    @property
    def opened_by(self) -> str:
        """`sender` or `receiver` of the data."""
    @property
    def start_s(self) -> float:
        """First packet, from the first one of the capture."""
    @property
    def duration_s(self) -> float:
        """Time from its first packet to its last."""
    @property
    def packets(self) -> int:
        """Packets, copies left out."""
    @property
    def copies(self) -> RoundTrips | None:
        """Delays of copies (mirror ports, second interfaces) behind their originals; no count has copies. None without them."""
    @property
    def captured(self) -> str:
        """`both ways`, `data only`, `acks only` or `no data`."""
    @property
    def capture_point(self) -> str:
        """`sender`, `receiver`, `between` or `unknown`, from the share of the round trip on the sender's side."""
    @property
    def handshake(self) -> bool:
        """True if both SYNs were captured."""
    @property
    def ended(self) -> str:
        """`closed`, `half closed`, `reset` or `open`."""
    @property
    def syns_retransmitted(self) -> int:
        """Retransmissions of SYNs, both directions; not in `data`."""
    @property
    def fins_retransmitted(self) -> int:
        """Retransmissions of FINs without data, both directions; not in `data`."""
    @property
    def options(self) -> Options:
        """Options that both ends agreed on."""
    @property
    def data(self) -> Data:
        """Data of the direction with more of it."""
    @property
    def back(self) -> Back:
        """Data of the other direction."""
    @property
    def rtt(self) -> RoundTrips | None:
        """Round trips of the whole path; None where they are unknown."""
    @property
    def rtt_near(self) -> RoundTrips | None:
        """Round trips between sender and point of capture: from an ACK to the first segment that echoes its timestamp."""
    @property
    def rtt_far(self) -> RoundTrips | None:
        """Round trips between point of capture and receiver: from a segment to its ACK, by Karn's rule."""
    @property
    def bottleneck(self) -> Bottleneck | None:
        """Bottleneck of the path; None where nothing shows it."""
    @property
    def receiver(self) -> ReceiverWindow:
        """The receiver's window."""
    @property
    def series(self) -> ConnectionSeries:
        """The connection over time."""
    @property
    def features(self) -> dict[str, float | None]:
        """Features by name (`longfat._longfat.trace_features`); None where one is unknown."""
    @property
    def verdict(self) -> Verdict:
        """Cause that limited the connection."""
    @property
    def control(self) -> ControlEstimate:
        """Estimated congestion control of the sender."""
    @property
    def notes(self) -> tuple[str, ...]:
        """Defects of the capture of this connection, as sentences."""

@final
class Options:
    """Options of a connection."""

    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment."""
    @property
    def mss_is_agreed(self) -> bool:
        """True if both SYNs said it; otherwise it is the most frequent length."""
    @property
    def window_scale(self) -> int | None:
        """Shift of the receiver's window field; None where the SYNs are missing."""
    @property
    def sack(self) -> bool:
        """SACK was agreed on."""
    @property
    def timestamps(self) -> bool:
        """Timestamps were agreed on."""

@final
class Data:
    """Data of one direction."""

    @property
    def segments(self) -> int:
        """Segments with payload, retransmissions included."""
    @property
    def bytes(self) -> int:
        """Payload sent, retransmissions included."""
    @property
    def bytes_acked(self) -> int:
        """Payload acknowledged; where no ACK was captured, payload sent."""
    @property
    def goodput_bps(self) -> float | None:
        """Payload acknowledged per time, from the first segment on, in bit/s; None for less than one round trip."""
    @property
    def flight_max_bytes(self) -> int:
        """Most payload in flight, as the sender saw it: its cwnd, where nothing else limits the sender."""
    @property
    def longest_bytes(self) -> int:
        """Payload of the longest segment."""
    @property
    def offload(self) -> int:
        """Segments longer than the mss, by TSO or GRO of the host that captured."""
    @property
    def retransmitted(self) -> Retransmitted:
        """Retransmissions."""
    @property
    def episodes(self) -> int:
        """Episodes of retransmissions, a round trip each."""
    @property
    def timeouts(self) -> int:
        """Episodes that began with a timeout."""
    @property
    def reordered(self) -> Reordered:
        """Segments out of order, not lost, by timestamps; without them, those within half of the least round trip."""
    @property
    def never_captured_bytes(self) -> int:
        """Payload acknowledged that the capture lacks: it lost packets."""
    @property
    def ce_packets(self) -> int:
        """Packets with CE."""
    @property
    def ece_acks(self) -> int:
        """Acknowledgments with ECE."""
    @property
    def cwr_segments(self) -> int:
        """Segments with CWR."""
    @property
    def duplicate_acks(self) -> int:
        """Duplicate acknowledgments (RFC 5681)."""
    @property
    def window_probes(self) -> int:
        """Window probes (RFC 9293)."""

@final
class Retransmitted:
    """Retransmissions of one direction, by cause."""

    @property
    def segments(self) -> int:
        """All of them."""
    @property
    def bytes(self) -> int:
        """Their payload."""
    @property
    def fast(self) -> int:
        """After duplicate or selective ACKs, after partial ones (RFC 6582), or after a later segment arrived (RFC 8985)."""
    @property
    def timeout(self) -> int:
        """By the retransmission timer, and all until the data sent before it are acknowledged."""
    @property
    def tail_probe(self) -> int:
        """Tail loss probes: the last segment, sooner than the timer (RFC 8985 section 7)."""
    @property
    def unknown(self) -> int:
        """The capture shows no reason."""
    @property
    def needless(self) -> int:
        """Spurious: DSACK (RFC 2883), echoed timestamp (RFC 3522), a late original, or an answer sooner than the least round trip."""
    @property
    def lost_before_capture(self) -> int:
        """Retransmissions whose original was lost before the point of capture."""

@final
class Reordered:
    """Segments out of order that were not lost."""

    @property
    def before_capture(self) -> int:
        """Overtaken before the point of capture."""
    @property
    def behind_capture(self) -> int:
        """Overtaken behind the point of capture."""

@final
class Back:
    """Data of the direction with less of it."""

    @property
    def bytes(self) -> int:
        """Payload sent, retransmissions included."""
    @property
    def segments(self) -> int:
        """Segments with payload."""
    @property
    def retransmitted(self) -> int:
        """Retransmissions."""

@final
class RoundTrips:
    """Times of one part of a path. What the clock of the capture cannot tell is None."""

    @property
    def samples(self) -> int:
        """Measurements."""
    @property
    def min_s(self) -> float | None:
        """The least one."""
    @property
    def mean_s(self) -> float | None:
        """Their mean."""
    @property
    def max_s(self) -> float:
        """The greatest one."""

@final
class Bottleneck:
    """Bottleneck of the path. Rates are of IP packets, in bit/s."""

    @property
    def rate_bps(self) -> float:
        """Estimated rate, from trains of ACKs or segments."""
    @property
    def rate_low_bps(self) -> float:
        """Lower end of the middle two thirds of the trains."""
    @property
    def rate_high_bps(self) -> float | None:
        """Upper end of the middle two thirds of the trains; None where the rate is a lower bound."""
    @property
    def is_lower_bound(self) -> bool:
        """True if something else than the path limits the sender: the rate is a lower bound."""
    @property
    def rate_by(self) -> str:
        """`acks` or `segments`."""
    @property
    def trains(self) -> int:
        """Trains that the rate is estimated from."""
    @property
    def queue_at_losses_bytes(self) -> QueueAtLosses | None:
        """Bytes queued at losses, from the round trip then: the limit of a droptail queue. None where no loss shows them."""
    @property
    def burst(self) -> Burst | None:
        """Bytes by which the sender ran ahead of the bottleneck; None where none was seen, or the receiver captured."""

@final
class QueueAtLosses:
    """Bytes queued at the bottleneck when it dropped a packet."""

    @property
    def median(self) -> float:
        """Median over losses."""
    @property
    def low(self) -> float:
        """16 % quantile."""
    @property
    def high(self) -> float:
        """84 % quantile."""
    @property
    def losses(self) -> int:
        """Losses counted."""

@final
class Burst:
    """Payload by which the sender ran ahead of the bottleneck."""

    @property
    def passed_bytes(self) -> int:
        """Most that passed without a loss."""
    @property
    def at_first_loss_bytes(self) -> int | None:
        """At the first loss; None without one."""

@final
class ReceiverWindow:
    """The receiver's window."""

    @property
    def window_min_bytes(self) -> int | None:
        """Least window."""
    @property
    def window_max_bytes(self) -> int | None:
        """Greatest window."""
    @property
    def window_is_scaled(self) -> bool:
        """True if the window scale is known."""
    @property
    def zero_windows(self) -> int:
        """Times that the window closed."""
    @property
    def zero_window_s(self) -> float:
        """Time with a closed window."""

@final
class ConnectionSeries:
    """A connection over time, in bins of one width; bins in which nothing happened are left out."""

    @property
    def width_s(self) -> float:
        """Width of a bin."""
    @property
    def time_s(self) -> tuple[float, ...]:
        """Begin of each bin, from the connection's first packet."""
    @property
    def sent_bytes(self) -> tuple[int, ...]:
        """Payload sent."""
    @property
    def acked_bytes(self) -> tuple[int, ...]:
        """Payload acknowledged."""
    @property
    def flight_max_bytes(self) -> tuple[int | None, ...]:
        """Most payload in flight; None where nothing new was sent."""
    @property
    def window_min_bytes(self) -> tuple[int | None, ...]:
        """Least window; None where nothing new was sent."""
    @property
    def rtt_mean_s(self) -> tuple[float | None, ...]:
        """Mean round trip; None without one."""
    @property
    def retransmitted(self) -> tuple[int, ...]:
        """Retransmissions."""

@final
class Verdict:
    """Cause that limited a connection."""

    @property
    def cause(self) -> str:
        """The cause, in the words of `docs/captures.md`."""
    @property
    def cannot_tell_from(self) -> tuple[str, ...]:
        """Causes that look the same here."""
    @property
    def confidence(self) -> float:
        """Probability that the cause is right, between 0 and 1."""
    @property
    def why(self) -> str:
        """Evidence."""
    @property
    def next(self) -> str:
        """Next step."""
    @property
    def limits(self) -> tuple[str, ...]:
        """Reasons for which the confidence is lower."""
    @property
    def others(self) -> tuple[OtherCause, ...]:
        """Other causes that the capture speaks for."""

@final
class OtherCause:
    """A cause that the capture speaks for less strongly."""

    @property
    def cause(self) -> str:
        """The cause."""
    @property
    def strength(self) -> float:
        """Strength of its rule, or its probability, between 0 and 1."""
    @property
    def why(self) -> str:
        """Evidence."""

@final
class ControlEstimate:
    """Estimate of the congestion control."""

    @property
    def name(self) -> str | None:
        """Name as in an experiment; None where it cannot be told."""
    @property
    def confidence(self) -> float:
        """Confidence, between 0 and 1."""
    @property
    def why(self) -> str:
        """Evidence."""

def trace(files: list[str], keep: int, progress: Callable[[float], object] | None = None) -> Capture:
    """Describes the `keep` connections with the most data in captures.

    `progress` hears the share that is read; an exception from it ends the reading.
    Raises longfat.errors.CaptureError where nothing can be read.
    """

def trace_packets(files: list[str], number: int, most: int, progress: Callable[[float], object] | None = None) -> Table:
    """The packets of one connection, at most `most`, in the columns of the table `packets`. Raises longfat.errors.CaptureError."""

def trace_features() -> list[tuple[str, str, str, str]]:
    """The features that verdicts are told by: name, unit, what each is, who defined it."""

def trace_thresholds() -> list[tuple[str, str, float, float, str]]:
    """The thresholds of the rules: cause, feature, where its share is 0, where it is 1, the captures that they were chosen on."""

def live_port() -> int:
    """Port of a server between real hosts, unless it has another."""

def live_key_new(name: str) -> tuple[str, str]:
    """Makes a key of this user: its file, and the text for the other host. ExperimentError where that cannot be."""

def live_key_add(name: str, text: str) -> str:
    """Keeps the key `text` of another host under `name`: its file. ExperimentError where it is none."""

def live_serve(
    keys: list[str],
    open: bool,
    limits_json: str,
    open_limits_json: str,
    bind: str | None,
    port: int,
    concurrent: int,
    capture: bool,
    readable: list[str],
    stamp: tuple[int, list[str], int] | None,
    say: Callable[[int, str], object],
) -> None:
    """Serves measurements until Ctrl-C.

    Calls `say` with the port and a sentence once it listens, and with 0 and a line for each session. The sentence says what the kernel does
    not confine; mostly it is empty. From then on, this thread can read `readable` and little else, for good. ExperimentError
    where it cannot.
    """

def live_greet(at: str, key: str | None, seconds: int) -> str:
    """Asks a server for a run of so many seconds, and lets it be.

    The answer is a JSON object, `Greeting` of crates/live/src/options.rs. ExperimentError where the server is not there, says no or is
    lost. Ctrl-C ends it.
    """

def live_attack(name: str | None = None, seed: int = 0, inputs: int = 0) -> list[str]:
    """Attacks what reads bytes of others with so many random inputs: tests/torture. AssertionError names a promise that was broken.

    Returns the names of all attacks.
    """

def live_survey(at: str, key: str | None) -> str:
    """Surveys the path to a server: round trips, routers, MTU, codepoints, a burst each way.

    The results are a JSON object, `Survey` of crates/live/src/survey.rs. ExperimentError where the server is not there, says no or is lost,
    and where no datagram comes through. Ctrl-C ends the survey.
    """

def live_stamp(at: str) -> str:
    """Measures the path to a reflector of STAMP (RFC 8762) for 10 s, 1000 packets.

    The results are a JSON object, `Stamped` of crates/live/src/stamp.rs. ExperimentError where nothing answers. Ctrl-C ends it.
    """

def live_iperf(at: str, is_up: bool, seconds: int, control: str | None) -> str:
    """Runs one TCP flow to or from a server of iperf3.

    The results are a JSON object, `Flowed` of crates/live/src/iperf.rs. ExperimentError where the server is not there, is busy, or is lost
    before anything was measured. Ctrl-C ends it.
    """

def testbed_findings() -> list[tuple[str, str, bool]]:
    """Lists what the testbed needs of this machine: name, what there is, and whether it will do."""

def testbed_facts() -> list[tuple[str, str]]:
    """Lists facts of this machine by which results may differ."""

def testbed_shell(run: Run, host: str | None, command: list[str]) -> tuple[int, Trace]:
    """Runs a command inside a host of a run's network, whose flows stay away; its exit code, and what the links did.

    Raises ExperimentError where the testbed cannot be had.
    """
