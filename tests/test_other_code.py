"""Results outlive the code that made them: runs of another longfat stand, and say what they lack."""

from __future__ import annotations

import json
from pathlib import Path

import longfat
import pytest
from conftest import ONE, SWEEP
from kept import changed, finished, keep
from longfat import Experiment, StorageError
from longfat.store import Store, shard
from longfat.sweep.work import timed
from test_store import inventory

FORMS = pytest.mark.parametrize("form", ["shard", "journal"])


@FORMS
def test_runs_that_other_code_made_stand(tmp_path: Path, form: str) -> None:
    Experiment(ONE).sweep(tmp_path)
    code = json.dumps({"version": "0.0.1", "commit": "", "code": "another"})
    keep(tmp_path, [changed(run, longfat=code) for run in finished(tmp_path)], form)
    before = inventory(tmp_path / "shards") if form == "shard" else {}
    again = Experiment(ONE).sweep(tmp_path)
    if form == "shard":
        assert inventory(tmp_path / "shards") == before
    assert again[0].provenance["longfat"]["code"] == "another"
    assert len(longfat.load_results(tmp_path)) == 1


@FORMS
@pytest.mark.parametrize(
    ("columns", "note"),
    [
        (["flows.timeouts"], "stored without flows.timeouts: metrics made of that are not to be trusted"),
        (["flows.cwnd_end_bytes"], "stored without flows.cwnd_end_bytes: what is made of that has no value"),
    ],
)
def test_a_trace_stored_without_a_column_says_so(tmp_path: Path, form: str, columns: list[str], note: str) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    keep(tmp_path, [changed(one, without=columns) for one in finished(tmp_path)], form)
    texts = [warning.text for warning in Store(tmp_path).read(run).warnings]
    assert any(note in text for text in texts), texts


def test_shards_of_a_longfat_that_lacked_a_table_are_read_and_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Experiment(SWEEP).sweep()
    with monkeypatch.context() as before:
        before.setattr(shard, "TRACE_TABLES", tuple(name for name in shard.TRACE_TABLES if name != "acks"))
        for value in ("8 KiB", "16 KiB"):
            some = Store(tmp_path)
            with some.writer() as writer:
                for run in Experiment(SWEEP).resolve_all():
                    if dict(run.labels)["window"] == value:
                        writer.keep(run, "", *timed(run))
            some.gather()
    store = Store(tmp_path)
    assert len(store.finished()) == 2
    store.gather()
    for result in expected:
        if result.run in store.finished():
            again = store.read(result.run)
            assert str(again.metrics) == str(result.metrics)
            assert not len(again.acks)


@FORMS
def test_an_experiment_that_this_version_cannot_read(tmp_path: Path, form: str) -> None:
    Experiment(ONE).sweep(tmp_path)
    (run,) = finished(tmp_path)
    resolved = json.dumps(json.loads(run.facts["resolved"]) | {"teleport": True})
    keep(tmp_path, [changed(run, resolved=resolved)], form)
    with pytest.raises(StorageError, match=r"cannot read the experiment of the run .*another version made:(.|\n)*teleport"):
        Store(tmp_path).read(run.run)
