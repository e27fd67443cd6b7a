"""`longfat fit`: the path behind measured numbers."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from pathlib import Path
from typing import Any

import longfat
import numpy as np
import pytest
from longfat import LongfatError
from longfat.advice.sources import read_source
from longfat.cli.app import app
from longfat.fit import judge
from longfat.fit.data import FLOOR, Measurement, gathered, log_of, value_of
from longfat.fit.emulator import Emulators
from longfat.fit.general import general, placed
from longfat.fit.losses import Losses, losses
from longfat.fit.page import html
from longfat.fit.path import summary
from longfat.fit.readers import READERS, read
from longfat.fit.readers.names import Names
from longfat.fit.runs import Runs
from longfat.fit.unknowns import Unknown, models, split
from typer.testing import CliRunner

PATH = """title = "A path"

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = {{ rate = {rate}, queue = {queue} }}

[[flow]]
stack = "linux"

[measure]
duration = "3 s"
"""
RATE = '{ unknown = ["1 Mbit/s", "16 Mbit/s"] }'
BUFFER = '{ kind = "droptail", limit = { name = "buffer", unknown = ["6 kB", "96 kB"] } }'


def of(rate: str = RATE, queue: str = BUFFER) -> str:
    return PATH.format(rate=rate, queue=queue)


# Unknowns


def test_ranges_are_unknowns_with_scales_and_names() -> None:
    (model,) = models(of(), "file")
    assert [(one.name, one.path, one.unit, one.scale) for one in model.unknowns] == [
        ("rate", "path.bottleneck.rate", "bps", "log"),
        ("buffer", "path.bottleneck.queue.limit", "bytes", "log"),
    ]
    assert model.unknowns[0].value(0.5) == pytest.approx(4e6)
    assert model.unknowns[0].place(4e6) == pytest.approx(0.5)
    assert 'rate = "4000000 bit/s"' in model.at([0.5, 0.0])
    assert longfat.Experiment(model.at([0.25, 1.0])).run_count == 1
    assert longfat.Experiment(model.over([[0, 0], [1, 1], [0.5, 0.5]])).run_count == 3


def test_choices_make_models_with_unknowns_of_their_own() -> None:
    queue = (
        '{ unknown = ["red", { label = "small", kind = "droptail", limit = "9 kB" }, '
        '{ kind = "policer", burst = { unknown = ["6 kB", "60 kB"] } }] }'
    )
    made = models(of(queue=queue), "file")
    assert [model.name for model in made] == ["red", "small", "policer"]
    assert [[one.name for one in model.unknowns] for model in made] == [["rate"], ["rate"], ["rate", "burst"]]
    assert len({model.slug for model in made}) == 3
    for model in made:
        assert longfat.Experiment(model.at([0.5] * len(model.unknowns))).run_count == 1


def test_counts_are_whole_and_scales_are_kept() -> None:
    text = of().replace('stack = "linux"', 'count = { unknown = [1, 9], scale = "linear" }  # not { unknown = [1, 2] }')
    (model,) = models(text, "file")
    count = model.unknowns[-1]
    assert (count.unit, count.scale, count.whole) == ("number", "linear", True)
    assert "count = 4  #" in model.at([0, 0, 0.4])
    # An unknown over several lines leaves the lines below in their places.
    long = of(rate='{ unknown = [\n  "1 Mbit/s",\n  "2 Mbit/s",\n] }')
    assert models(long, "file")[0].at([0, 0]).count("\n") == long.count("\n")


def test_clocks_and_cycles_of_hosts_are_ranges() -> None:
    host = '[[host]]\nname = "left1"\ncpu = { unknown = ["57 MHz", "1000 MHz"] }\nsend_packet = { unknown = ["0 cycles", "900 cycles"] }\n'
    (model,) = models(of() + host, "file")
    clock, cycles = model.unknowns[-2:]
    assert (clock.path, clock.unit, clock.scale, cycles.unit, cycles.scale) == ("host[0].cpu", "MHz", "log", "cycles", "linear")
    assert 'cpu = "239 MHz"' in model.at([0, 0, 0.5, 0])
    assert 'send_packet = "0 cycles"' in model.at([0, 0, 0.5, 0])
    assert longfat.Experiment(model.at([0.5] * 4)).run_count == 1
    assert clock.said(57) == "57 MHz"


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ('"1 Mbit/s"', None),
        ('{ unknown = "1 Mbit/s" }', "path.bottleneck.rate: expected the ends of a range or a list of choices"),
        ('{ unknown = ["1 Mbit/s"] }', "expected the ends of a range"),
        ('{ unknown = ["2 Mbit/s", "1 Mbit/s"] }', "is empty: expected the smaller end first"),
        ('{ unknown = ["1 Mbit/s", "20 ms"] }', "has two units: expected one"),
        ('{ unknown = ["1 Mbit/s", "2 Mbit/s"], scale = "square" }', 'scale = \'square\': expected "linear" or "log"'),
        ('{ unknown = [0, 2], scale = "log" }', "a logarithmic range begins above 0"),
        ('{ unknown = ["1 Mbit/s", "2 Mbit/s"], sacle = "log" }', "an unknown has no key 'sacle': expected unknown, scale, name"),
        ('{ unknown = ["1 Mbit/s", "2 Mbit/s"', "file: "),
    ],
)
def test_a_wrong_unknown_is_one_message(rate: str, expected: str | None) -> None:
    if expected is None:
        assert [one.name for one in models(of(rate=rate), "file")[0].unknowns] == ["buffer"]
        return
    with pytest.raises(LongfatError) as raised:
        models(of(rate=rate, queue='"droptail"'), "file")
    assert expected in str(raised.value)


def test_a_file_without_unknowns_says_how_to_write_one() -> None:
    with pytest.raises(LongfatError, match=r'has no unknown value. help: write \{ unknown = \["10 ms", "200 ms"\] \}'):
        models(of(rate='"1 Mbit/s"', queue='"droptail"'), "file")


def test_the_table_fit_is_cut_out_and_lines_stay() -> None:
    text, table = split(of() + '\n[fit]\ndata = "a.csv"\nhold_out = 0.5\n[fit.words]\n"S-TCP" = "scalable"\n[quick]\n', "file")
    assert table == {"data": "a.csv", "hold_out": 0.5, "words": {"S-TCP": "scalable"}}
    assert text.split("\n")[-2] == "[quick]"
    assert "fit" not in text


# Data


def one(window: str = "64 KiB", where: str = "x:1", **values: float) -> Measurement:
    spreads = {name.removesuffix("_sd"): value for name, value in values.items() if name.endswith("_sd")}
    rest = {name: value for name, value in values.items() if not name.endswith("_sd")}
    return Measurement({"flow.window": json.dumps(window)}, rest, spreads, where)


def test_repeats_of_a_setting_count_once_with_their_error() -> None:
    made = gathered([one(goodput_total_bps=value) for value in (9e6, 10e6, 11e6)] + [one("1 MiB", goodput_total_bps=1e6)])
    assert len(made.measurements) == 2
    assert made.observed[0].value == pytest.approx(10e6)
    assert made.observed[0].sigma == pytest.approx(math.log1p(1e6 / math.sqrt(3) / 10e6))
    assert made.observed[1].sigma == pytest.approx(0.05)
    assert "repeats count by their mean" in made.notes[0]
    assert made.notes[1].startswith("1 of 2 numbers state no spread: 5 %")


def test_shares_may_be_nothing() -> None:
    made = gathered([one(retransmission_rate=0.0)])
    assert made.observed[0].log == pytest.approx(math.log(FLOOR))
    for value in (0.0, 1e-3, 0.4):
        assert value_of("retransmission_rate", log_of("retransmission_rate", value)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], "hold no measurement"),
        ([one(goodput_totl_bps=1.0)], "is called 'goodput_totl_bps': did you mean goodput_total_bps"),
        ([one(goodput_total_bps=0.0)], "goodput_total_bps is 0: expected a number above 0"),
        ([one(goodput_total_bps=-1.0)], "expected a number above 0"),
        ([one(rtt_min_s=0.04, rtt_mean_s=0.02)], r"contradict each other: rtt_mean_s is 0.02 s, less than rtt_min_s, 0.04 s"),
        ([one(**{"measured.retransmit_share": 2.0})], r"expected a share from 0 to 1 \(2 % is 0.02\)"),
        (
            [
                one(where="x:2", goodput_total_bps=1e6, goodput_total_bps_sd=1e4),
                one(where="x:7", goodput_total_bps=2e6, goodput_total_bps_sd=1e4),
            ],
            "x:2 and x:7 contradict each other: goodput_total_bps is 1e\\+06 and 2e\\+06 .*, 71 standard deviations apart",
        ),
        ([one(goodput_total_bps=1e6), Measurement({}, {"goodput_total_bps": 1e6}, {}, "x:3")], "x:3: has no value of flow.window"),
    ],
)
def test_numbers_that_cannot_be_are_one_message(found: list[Measurement], expected: str) -> None:
    with pytest.raises(LongfatError, match=expected):
        gathered(found)


# Readers


IPERF3: dict[str, Any] = {
    "start": {
        "version": "iperf 3.16",
        "tcp_mss_default": 1448,
        "sock_bufsize": 0,
        "target_bitrate": 0,
        "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 10, "omit": 1, "reverse": 0},
    },
    "intervals": [],
    "end": {
        "streams": [{"sender": {"min_rtt": 40000, "mean_rtt": 50000}}, {"sender": {"min_rtt": 41000, "mean_rtt": 60000}}],
        "sum_sent": {"seconds": 10.0, "bytes": 1448 * 10000, "retransmits": 100},
        "sum_received": {"bits_per_second": 11e6},
        "sender_tcp_congestion": "cubic",
    },
}
"""The parts of the output of `iperf3 --json` that are read; the fields are those of iperf3 3.9 and later."""


def test_iperf3_whole_and_as_a_stream(tmp_path: Path) -> None:
    whole, stream = tmp_path / "a.json", tmp_path / "b.json"
    whole.write_text(json.dumps(IPERF3))
    events = [{"event": "start", "data": IPERF3["start"]}, {"event": "interval", "data": {}}, {"event": "end", "data": IPERF3["end"]}]
    stream.write_text("\n".join(map(json.dumps, events)))
    first, second = read([whole, stream])
    assert dataclasses.replace(first, where="") == dataclasses.replace(second, where="")
    assert first.setting == {
        "flow.congestion_control": '"cubic"',
        "flow.streams": "2",
        "measure.duration": '"11 s"',
        "measure.warmup": '"1 s"',
    }
    assert first.values["measured.goodput_bps"] == 11e6
    assert first.values["measured.rtt_min_s"] == pytest.approx(0.04)
    assert first.values["measured.rtt_mean_s"] == pytest.approx(0.055)
    assert first.values["measured.retransmit_share"] == pytest.approx(100 / 10100)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not json", "is neither JSON nor one JSON object per line"),
        ('{"a": 1}', r"expected a TCP test that `iperf3 --json` wrote \(its version here: unknown\)"),
        (json.dumps({"error": "unable to connect"}), "iperf3 failed: unable to connect"),
        (json.dumps(IPERF3 | {"end": {}}), "its version here: iperf 3.16"),
        ('{"event": "start", "data": {}}', "has no end: the test was cut short"),
        (json.dumps(IPERF3).replace('"reverse": 0', '"reverse": 1').replace("min_rtt", "no_rtt"), "run iperf3 on the sending host"),
        (json.dumps(IPERF3).replace('"TCP"', '"UDP"'), "is a test of UDP: expected TCP"),
        (json.dumps(IPERF3).replace('"target_bitrate": 0', '"target_bitrate": 1000'), "was limited to 1000 bit/s by --bitrate"),
    ],
)
def test_what_is_no_iperf3_test_is_one_message(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(LongfatError, match=expected):
        read([file])


TABLE = "flow.window,goodput_total_bps,goodput_total_bps_sd,flow_rtt_mean_s\n64 KiB,9.1 Mbit/s,1e5,40 ms\n\n1 MiB,9.4e6,,0.05\n"


def test_a_table(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(TABLE)
    first, second = read([file])
    assert first.setting == {"flow.window": '"64 KiB"'}
    assert first.values == {"goodput_total_bps": 9.1e6, "flow_rtt_mean_s": 0.04}
    assert first.spreads == {"goodput_total_bps": 1e5}
    assert second.values == {"goodput_total_bps": 9.4e6, "flow_rtt_mean_s": 0.05}
    assert second.where == f"{file}:4"
    file.write_text("stack,mbps,path\nS-TCP,9 Mbit/s,a\nReno,8 Mbit/s,b\n")
    names = Names({"stack": "flow.congestion_control", "mbps": "goodput_total_bps"}, {"S-TCP": "scalable"}, {"path": "a"})
    (only,) = read([file], names)
    assert (only.setting, only.values) == ({"flow.congestion_control": '"scalable"'}, {"goodput_total_bps": 9e6})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flow.window\n64 KiB\n", ":1: no column of measured values"),
        ("flow.window,goodput\n64 KiB,1\n", "is called 'goodput'"),
        ("flow.window,goodput_total_bps\n64 KiB,fast\n", r":2: goodput_total_bps is 'fast': expected a number \(bit/s, or with its unit"),
        ("flow.window,goodput_total_bps\n64 KiB,20 ms\n", ":2: goodput_total_bps is '20 ms': expected a number"),
        ("flow.window,goodput_total_bps\n64 KiB\n", ":2: not as many cells as there are columns"),
        ("goodput_total_bps,flow_rtt_mean_s_sd\n1,1\n", "the column flow_rtt_mean_s_sd has no column flow_rtt_mean_s beside it"),
        ("goodput_total_bps\nnan\n", "expected a number"),
    ],
)
def test_a_wrong_table_is_one_message(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(LongfatError, match=expected):
        read([file])


SS = """ESTAB 0 1440000 10.0.0.1:5000 10.0.0.2:5201
\t cubic wscale:7,7 rto:240 rtt:40.5/1.2 mss:1448 cwnd:100 bytes_sent:1000000 bytes_retrans:5000 bytes_acked:900000 busy:1000ms minrtt:40.1
ESTAB 0 0 10.0.0.1:22 10.0.0.9:40000
\t cubic wscale:7,7 rto:204 rtt:1.5/0.5 mss:1448 cwnd:10 bytes_sent:5000 bytes_acked:4000 busy:10ms minrtt:1.2
ESTAB 0 1440000 10.0.0.1:5000 10.0.0.2:5201
\t cubic wscale:7,7 rto:240 rtt:45.5/1.2 mss:1448 cwnd:120 bytes_sent:2600000 bytes_retrans:13000 bytes_acked:2500000 busy:2000ms minrtt:40
"""


def test_ss(tmp_path: Path) -> None:
    file = tmp_path / "ss.log"
    file.write_text(SS)
    (found,) = read([file])
    assert found.setting["flow.congestion_control"] == '"cubic"'
    assert found.values == pytest.approx(
        {"measured.goodput_bps": 1e7, "measured.rtt_mean_s": 0.043, "measured.rtt_min_s": 0.04, "measured.retransmit_share": 0.005}
    )
    file.write_text(SS.replace("busy:", "bsuy:"))
    with pytest.raises(LongfatError, match="has no busy time"):
        read([file])


def test_flent(tmp_path: Path) -> None:
    file = tmp_path / "a.flent.gz"
    told: dict[str, Any] = {
        "version": 4,
        "x_values": [0.0, 5.0, 10.0, 15.0, 20.0],
        "results": {"TCP upload": [None, 9.0, 9.0, 9.6, None], "Ping (ms) ICMP": [20.0, 40.0, 50.0, 60.0, 21.0]},
        "metadata": {"LENGTH": 10, "TEST_PARAMETERS": {}},
    }
    file.write_bytes(gzip.compress(json.dumps(told).encode()))
    (found,) = read([file])
    assert found.values == pytest.approx({"measured.goodput_bps": 9.2e6, "measured.rtt_min_s": 0.02, "measured.rtt_mean_s": 0.05})
    assert found.setting["measure.duration"] == '"10 s"'
    for change, expected in (
        ({"version": 9}, "is version 9 of flent's format: expected 3 or 4"),
        ({"results": {"Ping (ms)": [1.0]}}, "has no series 'TCP upload'"),
        ({"results": told["results"] | {"TCP download": [1.0]}}, "expected a test of uploads alone"),
    ):
        file.write_bytes(gzip.compress(json.dumps(told | change).encode()))
        with pytest.raises(LongfatError, match=expected):
            read([file])
    file.write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(LongfatError, match="expected a data file of flent"):
        read([file])


def test_a_capture() -> None:
    (found,) = read([Path(__file__).parent / "captures" / "congestion-by-loss.pcap.zst"])
    # The path was made with 4 Mbit/s and 60 ms (README.md there).
    assert found.values["measured.goodput_bps"] == pytest.approx(4e6, rel=0.2)
    assert found.values["measured.rtt_min_s"] == pytest.approx(0.06, rel=0.1)


def test_results_of_a_sweep(tmp_path: Path) -> None:
    experiment = longfat.Experiment(of(rate='"4 Mbit/s"', queue='"droptail"'))
    experiment.vary("flow[0].window", ["16 KiB", "64 KiB"])
    results = experiment.sweep(tmp_path / "results", jobs=1)
    found = read([tmp_path / "results"])
    assert [one.setting for one in found] == [{"flow[0].window": '"16 KiB"'}, {"flow[0].window": '"64 KiB"'}]
    assert [one.values["goodput_total_bps"] for one in found] == list(results.runs["goodput_total_bps"])
    assert found[0].values["rtt_min_s"] >= 0.02


def test_published_rows(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    file = tmp_path / "published" / "table1.csv"
    file.write_text(
        "id,where,page,quantity,stack,value,unit,uncertainty,note\n1,Table 1,3,rate,S-TCP,423,Mbit/s,10,\n2,Table 1,3,index,S-TCP,0.5,1,,\n"
    )
    names = Names({"stack": "flow.congestion_control", "rate": "goodput_total_bps"}, {"S-TCP": "scalable"}, {"where": "Table 1"})
    (found,) = read([tmp_path], names)
    assert found.values == {"goodput_total_bps": 423e6}
    assert found.spreads == {"goodput_total_bps": 10e6}
    assert found.setting == {"flow.congestion_control": '"scalable"'}
    with pytest.raises(LongfatError, match="no row can be fitted"):
        read([tmp_path])


def test_every_reader_has_a_test_and_its_own_files(tmp_path: Path) -> None:
    names = [one.name for one in READERS]
    assert sorted(names) == sorted(set(names)) == ["capture", "flent", "iperf3", "published", "results", "ss", "table"]
    (tmp_path / "odd.txt").write_text("nothing")
    with pytest.raises(LongfatError, match=r"odd.txt: the format is not known: expected a folder of results"):
        read([tmp_path / "odd.txt"])
    with pytest.raises(LongfatError, match="there is no such file"):
        read([tmp_path / "none.csv"])


# The general model


def test_the_general_model_is_an_experiment_whatever_its_choices(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(IPERF3))
    measured = placed(read([file]))
    made = models(general(measured), "general model")
    assert [model.name for model in made] == ["droptail, alone", "droptail, shared", "policer, alone", "policer, shared"]
    for model in made:
        assert {"base RTT", "rate", "loss", "window"} <= {one.name for one in model.unknowns}
        experiment = longfat.Experiment(model.at([0.5] * len(model.unknowns)))
        for path, value in measured[0].setting.items():
            experiment.set(path, value)
        assert not experiment.axes
    rate = next(one for one in made[0].unknowns if one.name == "rate")
    assert rate.low < 11e6 * 1500 / 1448 < rate.high


# A whole fit


RATES, BUFFERS = 4e6, 20e3


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two unknowns, and what a path of 4 Mbit/s and 20 kB gave, with noise of 2 %."""
    home = tmp_path_factory.mktemp("fit")
    experiment = longfat.Experiment(of(rate='"4 Mbit/s"', queue='{ kind = "droptail", limit = "20 kB" }'))
    experiment.vary("flow.window", ["4 KiB", "16 KiB", "64 KiB", "1 MiB"])
    results = experiment.sweep(jobs=1)
    rng = np.random.default_rng(5)
    lines = ["flow.window,goodput_total_bps,goodput_total_bps_sd,flow_rtt_mean_s,flow_rtt_mean_s_sd"]
    for window, rate, trip in zip(results.runs["window"], results.runs["goodput_total_bps"], results.runs["flow_rtt_mean_s"], strict=True):
        rate, trip = rate * math.exp(0.02 * rng.normal()), trip * math.exp(0.02 * rng.normal())
        lines.append(f"{window},{rate},{0.02 * rate},{trip},{0.02 * trip}")
    (home / "numbers.csv").write_text("\n".join(lines))
    (home / "path.toml").write_text(of() + '\n[fit]\ndata = "numbers.csv"\n')
    return home


@pytest.fixture(scope="module")
def fit(numbers: Path) -> longfat.Fit:
    return longfat.fit_path(numbers / "path.toml", folder=numbers / "results", waves=2, jobs=1)


@pytest.mark.slow
def test_a_fit_finds_the_path_again(fit: longfat.Fit) -> None:
    rate, buffer = fit.intervals["rate"], fit.intervals["buffer"]
    assert rate.verdict == buffer.verdict == "decided"
    assert rate.low <= RATES <= rate.high
    assert rate.middle == pytest.approx(RATES, rel=0.05)
    assert buffer.low <= BUFFERS <= buffer.high
    assert fit.explains
    assert fit.decided
    # Each setting was held out once, and is predicted better than by those who know no path.
    assert sorted(one.number for one in fit.best.held_out) == list(range(8))
    assert fit.errors["fit"] < fit.errors["mean"]
    assert "4" in summary(fit)
    assert list(fit.posterior.columns) == ["rate", "buffer"]


@pytest.mark.slow
def test_the_fitted_experiment_runs_and_is_taken_by_advise(fit: longfat.Fit, tmp_path: Path) -> None:
    fit.save(tmp_path / "fitted.toml")
    text = (tmp_path / "fitted.toml").read_text()
    assert text.startswith("# rate ")
    assert longfat.load(tmp_path / "fitted.toml").run().metrics["goodput_total_bps"] == pytest.approx(RATES, rel=0.1)
    words = read_source(tmp_path / "fitted.toml").words
    assert words["rtt"] == "20000 us"
    assert float(words["rate"].split()[0]) == pytest.approx(RATES, rel=0.05)


@pytest.mark.slow
def test_no_run_is_made_twice(fit: longfat.Fit, numbers: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in (numbers / "results").rglob("*shard*") if file.is_file()}
    again = longfat.fit_path(numbers / "path.toml", folder=numbers / "results", waves=2, jobs=1)
    after = {file: file.stat().st_mtime_ns for file in (numbers / "results").rglob("*shard*") if file.is_file()}
    assert before == after
    assert again.as_json() == fit.as_json()


@pytest.mark.slow
def test_the_page_shows_it_all(fit: longfat.Fit) -> None:
    page = html(fit)
    assert page.count("<svg") >= 2
    assert "How likely each value is" in page
    json.dumps(fit.as_json(), allow_nan=False)
    assert fit.plot().id == "measured"


@pytest.mark.slow
def test_numbers_of_no_such_path_are_refused(numbers: Path, tmp_path: Path) -> None:
    lines = (numbers / "numbers.csv").read_text().splitlines()
    # A goodput that rises, falls and rises again with the window is none of a drop-tail queue.
    cells = lines[3].split(",")
    lines[3] = ",".join([cells[0], "1e6", "2e4", *cells[3:]])
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    (tmp_path / "path.toml").write_text(of())
    found = CliRunner().invoke(
        app, ["fit", str(tmp_path / "path.toml"), str(tmp_path / "odd.csv"), "--results", str(tmp_path), "--waves", "0", "--jobs", "1"]
    )
    assert found.exit_code == 0, found.output
    assert "No path of this kind explains your numbers: goodput_total_bps with window 64 KiB is" in found.output


def test_random_losses_are_counted_where_their_rate_is_unknown() -> None:
    loss = 'loss = { kind = "bernoulli", probability = { name = "loss", unknown = [0.0001, 0.01] } }'
    text = of(rate='"8 Mbit/s"', queue='"droptail"').replace('queue = "droptail" }', f'queue = "droptail", {loss} }}')
    (model,) = models(text, "file")
    settings = [Measurement({"flow.window": f'"{size} KiB"'}, {}) for size in (8, 16)]
    few, many = (losses(Runs(model, None, "file", jobs=1), [place], settings) for place in (0.0, 1.0))
    assert few
    assert many
    assert few.unknown == "loss"
    # Windows of 8 and 16 KiB fill no buffer: what is retransmitted was lost at random.
    assert few.random < 10
    assert not few.tells
    assert "measure longer" in str(few)
    assert many.random >= 10
    assert many.retransmitted == pytest.approx(many.random, rel=0.3)
    (plain,) = models(of(), "file")
    assert losses(Runs(plain, None, "file", jobs=1), [0.5, 0.5], settings) is None


@pytest.mark.parametrize(
    ("random", "retransmitted", "tells", "says"),
    [
        (39, 39, False, "40 tell the rate within 30 %; measure longer."),
        (40, 80, True, "40 packets at random and retransmits 80."),
        (40, 81, False, "other losses hide them"),
        (0, 0, False, "measure longer"),
    ],
)
def test_random_losses_tell_their_rate_if_they_are_many_and_not_hidden(random: int, retransmitted: int, tells: bool, says: str) -> None:
    made = Losses("loss", random, retransmitted)
    assert made.tells is tells
    assert says in str(made)


@pytest.mark.slow
def test_one_number_does_not_decide_two_unknowns(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("flow.window,goodput_total_bps\n1 MiB,3.7 Mbit/s\n")
    (tmp_path / "path.toml").write_text(of())
    found = longfat.fit_path(tmp_path / "path.toml", tmp_path / "one.csv", waves=0, jobs=1)
    assert found.intervals["buffer"].verdict != "decided"
    assert any("1 numbers cannot decide 2 unknowns" in note for note in found.notes)
    assert not found.best.held_out


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("[fit]\ndta = 'x.csv'\n", r"\[fit\] has no key 'dta': did you mean data\?"),
        ("[fit]\ndata = 3\n", r"\[fit\] data: expected a file or a list of them"),
        ("[fit]\ndata = 'numbers.csv'\nhold_out = 2\n", r"\[fit\] hold_out = 2: expected a number from 0 to 0.9"),
        ("[fit]\ndata = 'numbers.csv'\nmetrics = ['jain_index']\n", r"\[fit\] metrics: the data have no jain_index"),
        ("[fit]\ndata = 'none.csv'\n", "none.csv: there is no such file"),
        ("", "nothing to fit: name files of numbers, or write"),
        ("[fit]\ndata = 'numbers.csv'\n[skip]\n", "skip"),
    ],
)
def test_a_wrong_file_is_one_message(extra: str, expected: str, numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text((numbers / "numbers.csv").read_text())
    (tmp_path / "path.toml").write_text(of() + extra)
    with pytest.raises(LongfatError, match=expected):
        longfat.fit_path(tmp_path / "path.toml", waves=0, jobs=1)


def test_a_sweep_of_its_own_is_refused(numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text(of().replace('"20 ms"', '{ sweep = ["20 ms", "30 ms"] }'))
    with pytest.raises(LongfatError, match="varies rtt: a file to fit has unknowns, and no sweep or repeats of its own"):
        longfat.fit_path(tmp_path / "path.toml", numbers / "numbers.csv", waves=0, jobs=1)


# Judgement


def test_an_interval_says_what_the_data_decide() -> None:
    unknown = Unknown("rate", "path.rate", 1e6, 1e8, "bps", "log")
    for verdict, expected in (
        ("decided", "10 Mbit/s (5 Mbit/s to 20 Mbit/s)"),
        ("roughly", "10 Mbit/s (5 Mbit/s to 20 Mbit/s)"),
        ("at least", "at least 5 Mbit/s"),
        ("at most", "at most 20 Mbit/s"),
        ("not decided", "not decided (5 Mbit/s to 20 Mbit/s)"),
    ):
        assert str(judge.Interval(unknown, 5e6, 1e7, 2e7, verdict)) == expected


def test_folds_hold_out_whole_settings_once() -> None:
    data = gathered([one(f"{size} KiB", goodput_total_bps=1e6, flow_rtt_mean_s=0.1) for size in range(4, 10)])
    made = judge.folds(data, 0.3)
    assert len(made) == 3
    assert np.array(made).sum(axis=0).tolist() == [1] * 12
    for held in made:
        assert all(held[2 * setting] == held[2 * setting + 1] for setting in range(6))
    assert judge.folds(gathered([one(goodput_total_bps=1e6)]), 0.3) == []


def test_a_lead_is_of_settings_and_not_of_numbers() -> None:
    data = gathered([one(f"{size} KiB", goodput_total_bps=1e6, flow_rtt_mean_s=0.1) for size in (4, 8, 16)])
    score = lambda number, value: judge.HeldOut(number, 0.0, 0.1, value, 0.0, 0.0)  # noqa: E731
    best, other = [score(number, 0.0) for number in range(6)], [score(number, -1.0 - number // 2) for number in range(6)]
    # Two numbers of a setting together: leads of 2, 4 and 6, with a standard deviation of 2.
    assert judge.lead(data, best, other) == pytest.approx((12.0, 2 * math.sqrt(3)))


def test_an_emulator_that_is_surprised_is_less_sure() -> None:
    data = gathered([one(goodput_total_bps=1e6)])
    places = np.linspace(0, 1, 60)[:, None]
    rng = np.random.default_rng(3)
    # Runs are steady below the middle and scatter above it, where the last points are.
    noise = np.where(places[:, 0] > 0.5, 0.2, 0.002) * rng.normal(size=60)
    outputs = data.observed[0].log + (places[:, 0] - 0.5 + noise)[:, None]
    calm, wary = Emulators(data.observed), Emulators(data.observed)
    calm.learn(places, outputs)
    wary.learn(places, outputs, recent=20)
    spread = wary.seed_variances[0] ** 0.5
    assert spread > 1.2 * calm.seed_variances[0] ** 0.5
    assert spread == pytest.approx(0.2, rel=0.4)


def compared(measured: float, spread: float | None, predicted: float) -> float:
    """Standard deviations between a share and a prediction of it."""
    values = {"retransmission_rate": measured} | ({} if spread is None else {"retransmission_rate_sd": spread})
    (number,) = gathered([one(**values)]).observed
    errors, variances = Emulators([number]).compared(np.array([[log_of("retransmission_rate", predicted) - number.log]]), np.zeros((1, 1)))
    return float(errors[0, 0] / np.sqrt(variances[0, 0]))


@pytest.mark.parametrize(("measured", "spread"), [(0.0, 2e-4), (1e-4, 2e-4), (5e-3, 1e-3)])
def test_a_share_with_a_stated_spread_is_compared_on_its_own_scale(measured: float, spread: float) -> None:
    for away in (-2.0, -1.0, 1.0, 3.0):
        if (predicted := measured + away * spread) >= 0:
            assert compared(measured, spread, predicted) == pytest.approx(away)
    # An assumed spread is a factor, so it is one on the scale of logarithms.
    assert compared(5e-3, None, 2 * 5e-3 + FLOOR) == pytest.approx(math.log(2) / 0.3)


def test_a_share_near_nothing_does_not_count_as_more_exact_the_higher_it_is_measured() -> None:
    true, spread = 1e-4, 2e-4
    measured = np.maximum(0.0, true + spread * np.random.default_rng(1).normal(size=400))
    away = np.array([compared(float(value), spread, true) for value in measured])
    assert 0.02 <= (away < -1.96).mean() + (away > 1.96).mean() <= 0.05  # those below 0 are measured as 0, half a spread off


def test_the_error_is_that_of_a_factor() -> None:
    data = gathered([one(goodput_total_bps=1e6), one("1 MiB", goodput_total_bps=4e6)])
    assert judge.error(data, [(0, math.log(1.1e6)), (1, math.log(4e6 / 1.3))]) == pytest.approx(0.2)
    assert math.isnan(judge.error(data, []))


def test_the_page_shows_a_file_that_can_be_fitted() -> None:
    page = (Path(__file__).parent.parent / "docs" / "fit.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]
    rest, table = split(text, "docs/fit.md")
    (model,) = models(rest, "docs/fit.md")
    assert [unknown.name for unknown in model.unknowns] == ["rtt", "rate", "buffer"]
    assert table == {"data": "numbers.csv"}
    assert longfat.Experiment(model.at([0.5, 0.5, 0.5])).run_count == 1
