"""Environments to learn in: the API checkers of the libraries, determinism, bad input, and nothing left behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from longfat import Experiment, LongfatError, Simulation
from longfat.gym import Env, ParallelEnv, Policy, VectorEnv, actions, control, measures, observations, rewards
from longfat.gym.examples import task

TOML = """\
title = "A small path"
repeats = 3
[path]
preset = "dumbbell"
rtt = { between = ["10 ms", "40 ms"], points = 4, scale = "log" }
edge = { rate = "1 Gbit/s" }
[path.bottleneck]
rate = "5 Mbit/s"
queue = { kind = "droptail", limit = "30 packets" }
loss = { kind = "bernoulli", probability = 0.001 }
[[flow]]
count = 2
window = "256 KiB"
congestion_control = "cubic"
traffic = { kind = "bulk" }
[measure]
duration = "2 s"
"""


@pytest.fixture
def paths() -> Experiment:
    return Experiment(TOML)


def trajectory(env: Env, seed: int, steps: int = 60) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    told = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        seen, reward, terminated, truncated, info = env.step(draw.uniform(-1, 1, 1).astype(np.float32))
        told.append(np.append(seen, [reward, *info["measures"].values()]))
        if terminated or truncated:
            told.append(env.reset()[0])
    return told


@pytest.mark.parametrize("action", [entry["name"] for entry in actions()])
@pytest.mark.parametrize("decide", ["rtt", "ack", "30 ms"])
def test_gymnasium_accepts_it(paths: Experiment, action: str, decide: str) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(Env(paths, action=action, decide=decide, observe=[entry["name"] for entry in observations()]), skip_render_check=True)


def test_stable_baselines_accepts_it(paths: Experiment) -> None:
    """PyTorch is 3 GB with what it needs, so nothing installs it for this test; where it is installed, this runs."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    for action in ("cwnd_factor", "cwnd_choice"):
        checker.check_env(Env(paths, action=action, steps=50), warn=True)


def test_pettingzoo_accepts_it(paths: Experiment) -> None:
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    parallel_api_test(ParallelEnv(paths), num_cycles=100)
    parallel_seed_test(lambda: ParallelEnv(paths), num_cycles=20)


@pytest.mark.parametrize("reward", [entry["name"] for entry in rewards()])
def test_every_reward_is_finite(paths: Experiment, reward: str) -> None:
    env = Env(paths, reward=reward)
    env.reset(seed=1)
    given = [env.step(np.array([a]))[1] for a in (1, 1, -1, 0.3, -1, 1)]
    assert np.isfinite(given).all()
    assert len(set(given)) > 1


def test_equal_seeds_and_actions_give_equal_bits(paths: Experiment) -> None:
    once, again, other = (trajectory(Env(paths), seed) for seed in (7, 7, 8))
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(once, other, strict=False))


@pytest.mark.parametrize("decide", ["rtt", "ack", "20 ms"])
def test_a_vector_does_what_single_environments_do(paths: Experiment, decide: str) -> None:
    """Bit for bit, over ends of episodes, and with any number of threads."""
    count, steps = 5, 150
    draws = np.random.default_rng(3).uniform(-1, 1, (steps, count, 1)).astype(np.float32)
    for threads in (1, 3):
        vector = VectorEnv(paths, count, decide=decide, threads=threads, steps=70)
        singles = [Env(paths, decide=decide, steps=70) for _ in range(count)]
        seen, _ = vector.reset(seed=11)
        assert np.array_equal(seen, [env.reset(seed=11 + i)[0] for i, env in enumerate(singles)])
        ends = 0
        for actions_of_step in draws:
            seen, reward, done, cut, infos = vector.step(actions_of_step)
            for i, env in enumerate(singles):
                alone = env.step(actions_of_step[i])
                assert (reward[i], done[i], cut[i]) == alone[1:4]
                if done[i] or cut[i]:
                    ends += 1
                    assert np.array_equal(infos["final_obs"][i], alone[0])
                    alone = env.reset()
                assert np.array_equal(seen[i], alone[0])
                assert infos["run"][i] == alone[-1]["run"]
        assert ends >= count


def test_a_step_is_a_round_trip_and_a_window_holds(paths: Experiment) -> None:
    env = Env(paths, action={"name": "cwnd", "least": 2, "most": 64}, reward="power")
    env.reset(seed=1, options={"run": 0})
    for _ in range(4):
        measured = env.step(np.array([0.0]))[4]["measures"]
    assert measured["cwnd"] == pytest.approx(np.sqrt(2 * 64) * measured["mss"], abs=1)
    assert measured["step"] == pytest.approx(measured["rtt"], rel=0.5)
    assert measured["delivered"] <= 1.5 * measured["cwnd"]


def test_each_ack_is_a_step(paths: Experiment) -> None:
    env = Env(paths, decide="ack")
    env.reset(seed=1)
    told = [env.step(np.array([0.0]))[4]["measures"] for _ in range(30)]
    assert all(0 < one["delivered"] <= 4 * one["mss"] for one in told)
    times = [one["time"] for one in told]
    assert times == sorted(times)


def test_a_variable_of_the_own_control_can_be_set(paths: Experiment) -> None:
    env = Env(paths, action={"set": "ssthresh", "least": 10_000, "most": 20_000})
    env.reset(seed=1)
    env.step(np.array([-1.0]))
    assert env.step(np.array([-1.0]))[4]["measures"]["ssthresh"] == 10_000
    wrong = Env(paths, action={"set": "ssthresch", "least": 0, "most": 1})
    wrong.reset(seed=1)
    with pytest.raises(LongfatError, match=r"no `ssthresch` in its state: expected one of .*ssthresh"):
        wrong.step(np.array([1.0]))
    with pytest.raises(LongfatError, match="there is no episode: reset first"):
        wrong.step(np.array([1.0]))


def test_a_reward_of_ones_own(paths: Experiment) -> None:
    def mine(seen: dict[str, np.ndarray]) -> np.ndarray:
        return seen["delivered"] - 2 * seen["lost"]

    single, vector = Env(paths, reward=mine), VectorEnv(paths, 2, reward=mine)
    single.reset(seed=5)
    vector.reset(seed=5)
    _, reward, _, _, info = single.step(np.array([1.0]))
    assert reward == info["measures"]["delivered"] - 2 * info["measures"]["lost"] > 0
    assert vector.step(np.ones((2, 1)))[1][0] == reward


def test_two_flows_decide_and_share(paths: Experiment) -> None:
    env = ParallelEnv(paths, flows=(0, 1), decide="50 ms")
    seen, _ = env.reset(seed=1)
    assert list(seen) == env.agents == ["flow0", "flow1"]
    infos, fairness = {}, []
    while env.agents:
        _, given, _, _, infos = env.step({agent: np.array([0.0]) for agent in env.agents})
        assert set(given) == {"flow0", "flow1"}
        fairness.append(infos["flow0"]["measures"].get("fairness", np.nan))
    # Equal windows; a random loss stops one of them now and then.
    assert np.nanmean(fairness) > 0.8
    assert infos["flow0"]["measures"]["time"] == infos["flow1"]["measures"]["time"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flow": 9}, "flow 9 cannot decide: expected a TCP flow, from 0 to 1"),
        ({"observe": ["cwd"]}, "no observation is called `cwd`(.|\n)*did you mean `cwnd`"),
        ({"observe": []}, "observe = .*: expected names of observations"),
        ({"action": "cwnd_facto"}, "no action is called `cwnd_facto`(.|\n)*did you mean `cwnd_factor`"),
        ({"action": {"name": "cwnd_factor", "facto": 2}}, "`cwnd_factor` has no parameter `facto`(.|\n)*did you mean `factor`"),
        ({"action": {"set": "cwnd"}}, "action = .*: expected"),
        ({"action": {"name": "cwnd_factor", "factor": -1}}, "expected parameters above 0"),
        ({"reward": "powr"}, "no reward is called `powr`(.|\n)*did you mean `power`"),
        ({"reward": {"name": "copa", "delta": "much"}}, "reward: delta = 'much': expected a number"),
        ({"decide": "5 Mbit/s"}, 'decide = .*: expected "rtt", "ack" or a time'),
        ({"steps": 0}, "steps = 0: expected at least 1"),
    ],
)
def test_what_is_wrong_is_said(paths: Experiment, options: dict[str, object], message: str) -> None:
    with pytest.raises(LongfatError, match=message):
        Env(paths, **options).reset(seed=1)  # type: ignore[arg-type]


def test_actions_out_of_range_are_refused(paths: Experiment) -> None:
    env = Env(paths)
    with pytest.raises(LongfatError, match="there is no episode: reset first"):
        env.step(np.array([0.0]))
    env.reset(seed=1)
    for action, message in (
        ([2.0], "action 2: expected a number from -1 to 1"),
        ([np.nan], "action NaN"),
        ([0, 0], "2 actions: expected 1"),
    ):
        with pytest.raises(LongfatError, match=message):
            env.step(np.array(action))
    choices = Env(paths, action="cwnd_choice")
    choices.reset(seed=1)
    with pytest.raises(LongfatError, match="action 5: expected a whole number from 0 to 4"):
        choices.step(5)
    with pytest.raises(LongfatError, match="several flows decide by time"):
        ParallelEnv(paths, decide="rtt")


def test_a_control_in_python_beside_it_may_fail(paths: Experiment) -> None:
    import longfat

    @longfat.congestion_control(name="breaks_in_gym")
    class Breaks:
        def on_ack(self, ack: object) -> None:
            raise ValueError("broken")

        def on_congestion(self, event: object) -> None: ...

    paths.set("flow[0].congestion_control", '"breaks_in_gym"')
    with pytest.raises(ValueError, match="broken"):
        VectorEnv(paths, 3, threads=2).reset(seed=1)


def test_a_thousand_resets_leave_nothing(paths: Experiment) -> None:
    env, process = Env(paths), psutil.Process()

    def some(count: int) -> int:
        for seed in range(count):
            env.reset(seed=seed)
            for _ in range(3):
                env.step(np.array([1.0]))
        gc.collect()
        return process.memory_info().rss

    before = some(200)
    assert some(1000) - before < 8 << 20
    assert process.num_threads() < 64


def test_a_policy_becomes_a_control_by_name(paths: Experiment, tmp_path: Path) -> None:
    """A policy that leaves cwnd as it is, and one that always grows: a run of each, by name and from its file."""
    fields = ["cwnd", "rtt_ratio"]
    width = len(Env(paths, observe=fields).names)
    grows = Policy([(np.zeros((width, 1)), np.ones(1))], fields)
    stays = Policy([(np.zeros((width, 1)), np.zeros(1))], fields)
    grows.save(tmp_path / "grows.json")
    assert Policy.load(tmp_path / "grows.json").digest == grows.digest != stays.digest
    control("grows_in_gym", tmp_path / "grows.json")
    control("stays_in_gym", stays)
    hashes, windows = set(), []
    for name in ("stays_in_gym", "grows_in_gym"):
        paths.set("flow[0].congestion_control", f'"{name}"')
        run = paths.resolve(0)
        hashes.add(run.hash)
        simulation = Simulation(run)
        simulation.advance("1 s")
        windows.append(simulation.observe().flows[0]["cwnd"])
    assert len(hashes) == 2
    assert windows[0] == 14_480 + 2 * 1448, "a control starts in slow start, up to its first decision"
    # Three decisions of 1.7 times, then the queue of 30 packets overflows: a recovery that sends no new data ends no round trip.
    assert windows[1] > 2 * windows[0]
    for wrong, message in (
        (Policy(stays.layers, ["loss"]), "`loss` cannot be observed by a control by name"),
        (Policy(stays.layers, fields, "own_cwnd_factor"), "`own_cwnd_factor` cannot be a control by name"),
        (Policy(stays.layers, fields, "cwnd_choice"), "`cwnd_choice` cannot be a control by name: a policy gives a number"),
    ):
        with pytest.raises(LongfatError, match=message):
            control("wrong_in_gym", wrong)
    with pytest.raises(LongfatError, match="no policy of longfat"):
        Policy.load(tmp_path / "none.json")


@pytest.mark.parametrize("decide", ["rtt", "ack"])
@pytest.mark.parametrize(
    "action",
    [
        {"name": "cwnd_factor"},
        {"name": "cwnd", "least": 4, "most": 40},
        {"name": "rate_factor", "scale": 0.2},
        {"name": "pacing_rate", "least": 1e6, "most": 4e6},
    ],
    ids=lambda action: action["name"],
)
@pytest.mark.parametrize("stack", ["rfc", "linux"])
def test_a_policy_by_name_does_what_it_does_through_actions(action: dict[str, Any], decide: str, stack: str) -> None:
    """Bit for bit: decisions, their times, what is observed at each, and rewards."""
    one_flow = TOML.replace("count = 2\n", "").replace('"2 s"', '"5 s"').replace('"cubic"', f'"reno"\nstack = "{stack}"')
    paths = Experiment(one_flow.replace("[measure]", '[[flow]]\nwindow = "256 KiB"\ntraffic = { kind = "bulk" }\n[measure]'))
    # These are of the control under the agent, or, where half a window in use lets it grow, follow from its ssthresh.
    of_own = {"own_cwnd", "ssthresh"} | ({"cwnd_limited"} if stack == "linux" else set[str]())
    fields = [entry["name"] for entry in observations() if entry["source"] == "hooks" and entry["name"] not in of_own]
    env, draw = Env(paths, observe=fields, action=action, decide=decide), np.random.default_rng(4)
    layers = [(draw.normal(0, 0.5, (len(env.names), 6)), draw.normal(0, 0.5, 6)), (draw.normal(0, 0.3, (6, 1)), np.zeros(1))]
    policy = Policy(layers, fields, action, decide)
    decided: list[np.ndarray] = []

    class Logged(Policy):
        def __call__(self, observations: np.ndarray) -> np.ndarray:
            decided.append(np.append(observations, super().__call__(observations)))
            return super().__call__(observations)

    name = f"by_name_{action['name']}_{decide}_{stack}"
    control(name, Logged(layers, fields, action, decide))
    paths.set("flow[0].congestion_control", f'"{name}"')
    by_name = Env(paths, observe=fields, action="own", decide=decide)
    compared = {entry["name"] for entry in measures()} - of_own
    total, reductions = 0, 0
    for run in range(2):
        decided.clear()
        (seen, info), (same, told) = (one.reset(seed=1, options={"run": run}) for one in (env, by_name))
        acted, cut = [], False
        while not cut:
            assert np.array_equal(seen, same)
            assert {key: info["measures"].get(key) for key in compared} == {key: told["measures"].get(key) for key in compared}
            acted.append(np.append(seen, policy(seen)))
            seen, reward, _, cut, info = env.step(acted[-1][-1])
            same, given, _, over, told = by_name.step(0)
            assert (reward, cut) == (given, over)
            reductions += info["measures"]["reductions"]
        # A decision that the end of the run comes before is taken through actions alone.
        assert len(acted) - len(decided) in (0, 1)
        assert np.array_equal(acted[: len(decided)], decided)
        total += len(decided)
    assert total > 10
    assert reductions > 0


def test_the_example_judges_on_paths_that_chose_nothing() -> None:
    """A sample of three sets of paths has no path in common, and the kept policy is the best on validation paths."""
    folder = Path(task.__file__).parent
    drawn = range(0, 1024, 32)
    sets = [{str(task.paths(which).resolve(run).labels) for run in drawn} for which in ("train", "validation", "test")]
    assert len(set().union(*sets)) == 3 * len(drawn)
    judged, kept = json.loads((folder / "judged.json").read_text()), Policy.load(folder / "learned.json")
    best = max(judged["curves"], key=lambda seed: judged["curves"][seed][-1][1])
    assert kept.notes["seed"] == judged["chosen"] == int(best)
    assert kept.notes["validation"] == judged["curves"][best]


def test_every_entry_is_described() -> None:
    for entry in (*observations(), *actions(), *rewards(), *measures()):
        assert entry["summary"]
        assert entry["source"]


def test_nothing_is_imported_unless_asked_for() -> None:
    of_others = "('gymnasium', 'pettingzoo', 'torch')"
    code = f"import sys, longfat, longfat.gym; longfat.gym.observations(); print([m for m in {of_others} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
