"""Collected and mixed datasets: what plain Minari reads, what learners get, and nothing half-written."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pytest
import stable_baselines3 as sb3

from robust_bc import Demonstrations, fit
from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, local_datasets, write_dataset
from robust_bc_demos.mixed_datasets import MixRequest, make_mix, mix
from robust_bc_demos.summary import draw_summary, summarise
from robust_bc_demos.teachers import find_teacher, random_actions, teacher_names
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import find_task

DRIVING = find_task("lane-driving")


def test_an_episode_is_what_the_environment_gives_for_its_seed_and_actions(datasets: Path) -> None:
    collect("halfcheetah", "random", "our/cheetah-v0", episodes=2, seed=3)
    dataset = minari.load_dataset("our/cheetah-v0")
    with quiet_mujoco():
        environment = dataset.recover_environment()
    metadata = list(dataset.storage.get_episode_metadata(dataset.episode_indices))
    for episode, about in zip(dataset.iterate_episodes(), metadata, strict=True):
        observation, _ = environment.reset(seed=about["seed"])
        assert np.array_equal(observation, episode.observations[0])
        for step, action in enumerate(episode.actions[:30]):
            observation, reward, *_ = environment.step(action)
            assert np.array_equal(observation, episode.observations[step + 1])
            assert reward == episode.rewards[step]
        assert len(episode) == 1000
        assert episode.truncations[-1]
        assert not episode.terminations.any()
        assert about["source"] == "random"
        assert about["teacher"] == "random"
        assert about["return"] == pytest.approx(episode.rewards.sum())
        assert "x_velocity" in about
    assert dataset.env_spec.id == "HalfCheetah-v5"


def test_plain_minari_reads_it_without_our_code(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/safe-v0", episodes=2, settings={"length": 60.0, "cars": 1})
    code = (
        "import minari; d = minari.load_dataset('our/safe-v0'); e = d[0]; w = d.recover_environment();"
        "import sys; o, _ = w.reset(seed=d.storage.metadata and list(d.storage.get_episode_metadata([0]))[0]['seed']);"
        "print(len(d), e.observations.shape[1], (o == e.observations[0]).all(), w.unwrapped.settings.length,"
        " 'robust_bc_demos' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "4", "True", "60.0", "False"]


def test_the_same_seed_is_the_same_dataset_and_a_longer_one_begins_with_it(datasets: Path) -> None:
    for name, episodes, seed in (
        ("our/one-v0", 3, 0),
        ("our/two-v0", 3, 0),
        ("our/longer-v0", 5, 0),
        ("our/other-v0", 3, 1),
    ):
        collect("lane-driving", "careless", name, episodes=episodes, seed=seed)
    one, two, longer, other = (
        Demonstrations.from_minari(f"our/{name}-v0") for name in ("one", "two", "longer", "other")
    )
    assert np.array_equal(one.actions, two.actions)
    assert np.array_equal(one.observations, longer.observations[: len(one)])
    assert not np.array_equal(one.observations[:5], other.observations[:5])


def test_a_dataset_is_never_overwritten_by_accident(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    before = (datasets / "our/x-v0/data/main_data.hdf5").read_bytes()
    with pytest.raises(RobustBCError, match="'our/x-v0' is there already"):
        collect("lane-driving", "careless", "our/x-v0", episodes=1)
    assert (datasets / "our/x-v0/data/main_data.hdf5").read_bytes() == before
    collect("lane-driving", "careless", "our/x-v0", episodes=2, overwrite=True)
    assert minari.load_dataset("our/x-v0").total_episodes == 2
    assert sorted(path.name for path in datasets.rglob("*") if path.name.startswith(".")) == []


def test_replacing_a_mix_leaves_no_labels_behind(datasets: Path) -> None:
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1), "our/x-v0")
    assert Demonstrations.from_minari("our/x-v0", labels=True).corrupt is not None
    collect("lane-driving", "safe", "our/x-v0", episodes=1, overwrite=True)
    with pytest.raises(RobustBCError, match="nobody knows which pairs"):
        Demonstrations.from_minari("our/x-v0", labels=True)


def test_what_breaks_midway_leaves_nothing(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    worlds = make_batch(DRIVING, 1)
    seen, done = boxes(worlds)
    plan = DatasetPlan("our/x-v0", DRIVING, seen, done, "", "")
    episode = Episode(0, np.zeros((3, 4), np.float32), np.zeros((2, 1), np.float32), np.zeros(2), True)

    def broken() -> Any:
        yield Recorded(episode, "a", "a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(plan, broken(), overwrite=True)
    assert minari.load_dataset("our/x-v0").total_steps > 2  # the old one
    with pytest.raises(KeyboardInterrupt):
        write_dataset(DatasetPlan("our/new-v0", DRIVING, seen, done, "", ""), broken())
    assert [row["dataset"] for row in local_datasets()] == ["our/x-v0"]
    assert not list(datasets.glob(".*"))


def test_a_failed_replacement_brings_the_old_dataset_back(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    rename, calls = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(RobustBCError, match=r"cannot be written: .*No space left.*; nothing was changed"):
        collect("lane-driving", "safe", "our/x-v0", episodes=2, overwrite=True)
    monkeypatch.undo()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(datasets))
    assert minari.load_dataset("our/x-v0").total_episodes == 1
    assert not list(datasets.glob(".*"))


def test_ctrl_c_while_datasets_are_exchanged_waits(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect("lane-driving", "safe", "our/x-v0", episodes=2, overwrite=True)
    assert minari.load_dataset("our/x-v0").total_episodes == 2


def test_a_full_disk_is_said_before_hdf5_meets_it(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 4 * 2**20))
    with pytest.raises(RobustBCError, match=r"the disk of .* is full; nothing was written"):
        collect("lane-driving", "safe", "our/x-v0", episodes=1)
    assert not list(datasets.glob(".*"))


@pytest.mark.parametrize("task", ["halfcheetah", "walker2d", "lane-driving"])
def test_an_experts_episode_does_not_feel_its_company(task: str, datasets: Path) -> None:
    for count in (1, 3):
        collect(task, "expert", f"our/x{count}-v0", episodes=count)
    one, three = (minari.load_dataset(f"our/x{count}-v0")[0] for count in (1, 3))
    assert np.array_equal(one.observations, three.observations)
    assert np.array_equal(one.actions, three.actions)


class Picky(gym.Env[Any, Any]):
    """Registered by its class, as many do; fails in the third step if told so."""

    def __init__(self, fails: bool = False) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.fails = fails

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.fails and self.count == 3:
            raise RuntimeError("a wheel came off")
        return np.zeros(1, np.float32), 0.0, False, False, {}


@pytest.fixture
def picky() -> Any:
    made_by: Any = Picky
    gym.register("Picky-v0", entry_point=made_by, max_episode_steps=7)
    yield "Picky-v0"
    del gym.registry["Picky-v0"]


def test_an_environment_that_is_registered_by_its_class(picky: str, datasets: Path) -> None:
    collect(picky, "random", "our/x-v0", episodes=2)
    assert minari.load_dataset("our/x-v0").env_spec.entry_point == f"{__name__}:Picky"
    collect(picky, "random", "our/y-v0", episodes=1, settings={"max_episode_steps": 4})
    dataset = minari.load_dataset("our/y-v0")
    assert (dataset.total_steps, dataset.env_spec.max_episode_steps, dataset.env_spec.kwargs) == (4, 4, {})
    mix(MixRequest(find_task(picky), "flip", 0.5, pairs=4, clean="our/y-v0"), "our/z-v0")
    assert minari.load_dataset("our/z-v0").env_spec.max_episode_steps == 4


def test_an_environment_that_fails_gets_one_sentence(picky: str, datasets: Path) -> None:
    with pytest.raises(RobustBCError, match="the environment failed in a step: RuntimeError: a wheel came off"):
        collect(picky, "random", "our/x-v0", settings={"fails": True})
    for name in ("threads", "num_envs", "render_mode", "autoreset_mode"):
        with pytest.raises(RobustBCError, match=f"'{name}' is not a setting of the environment"):
            collect("lane-driving", "safe", "our/x-v0", settings={name: 2})
    with pytest.raises(RobustBCError, match="no setting 'reversed_reward'"):
        collect("lane-driving", "safe", "our/x-v0", settings={"reversed_reward": True})
    assert not local_datasets()


def test_a_mix_keeps_the_settings_of_its_road(datasets: Path) -> None:
    settings = {"length": 80.0, "cars": 1, "shape": "curved"}
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1, settings=settings), "our/m-v0")
    assert minari.load_dataset("our/m-v0").env_spec.kwargs == settings
    collect("lane-driving", "safe", "our/c-v0", episodes=1, settings=settings)
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, clean="our/c-v0"), "our/n-v0")
    assert minari.load_dataset("our/n-v0").env_spec.kwargs == settings


def test_a_mix_takes_only_what_fits(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/safe-v0", episodes=1)
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1), "our/mixed-v0")
    for request, sentence in (
        (MixRequest(DRIVING, "flip", 0.1, clean="our/mixed-v0"), "is a mix itself"),
        (MixRequest(find_task("halfcheetah"), "flip", 0.1, clean="our/safe-v0"), "but task 'halfcheetah' is"),
        (MixRequest(DRIVING, "flip", 0.1, clean="our/safe-v0", good="safe"), "--good has no part in this mix"),
        (MixRequest(DRIVING, "flip", 0.1, bad="careless"), "--bad has no part in this mix"),
        (MixRequest(DRIVING, "flip", 0.1, clean="our/safe-v0", corrupt="our/safe-v0"), "--corrupt has no part"),
        (MixRequest(DRIVING, "flip", 0.1, seed=-1), "seed must be a whole number"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            mix(request, "our/x-v0")


def test_good_and_bad_teachers_drive_other_roads(datasets: Path) -> None:
    request = MixRequest(DRIVING, "rollout", 0.5, pairs=None, episodes=2, good="safe", bad="safe")
    mixed = make_mix(request).mix
    starts = [episode.observations[0].tobytes() for episode in mixed.episodes]
    assert len(set(starts)) == len(starts)


@pytest.mark.parametrize("how", ["rollout", "relabel", "flip", "uniform"])
@pytest.mark.parametrize("pairs", [60, None], ids=["pairs", "all"])
def test_a_mix_goes_to_learners_without_its_labels(how: str, pairs: int | None, datasets: Path) -> None:
    _, mixed = mix(
        MixRequest(DRIVING, how, 0.3, pairs=pairs, episodes=3, settings={"length": 80.0, "cars": 1}), "our/m-v0"
    )
    blind = Demonstrations.from_minari("our/m-v0")
    assert blind.corrupt is None
    known = Demonstrations.from_minari("our/m-v0", labels=True)
    assert known.corrupt is not None
    assert np.array_equal(known.corrupt, mixed.labels)
    assert abs(known.corrupt.sum() - 0.3 * len(known)) <= 0.5
    assert len(np.unique(known.episodes)) == len(mixed.episodes)
    told = minari.load_dataset("our/m-v0").storage.get_episode_metadata(range(len(mixed.episodes)))
    assert {(about["source"], about["teacher"]) for about in told} == {("mix", "mix")}  # no hint
    if pairs is not None:
        dataset = minari.load_dataset("our/m-v0")
        assert dataset.total_episodes == dataset.total_steps == 60
        assert all(len(episode.observations) == 2 for episode in dataset.iterate_episodes())


def test_a_mix_of_ones_own_datasets(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/good-v0", episodes=3)
    collect("lane-driving", "careless", "our/bad-v0", episodes=3)
    request = MixRequest(DRIVING, "rollout", 0.25, pairs=100, clean="our/good-v0", corrupt="our/bad-v0")
    mix(request, "our/mix-v0")
    pairs = Demonstrations.from_minari("our/mix-v0", labels=True)
    good, bad = (
        {row.tobytes() for row in Demonstrations.from_minari(name).observations}
        for name in ("our/good-v0", "our/bad-v0")
    )
    assert pairs.corrupt is not None
    for row, corrupt in zip(pairs.observations, pairs.corrupt, strict=True):
        assert row.tobytes() in (bad if corrupt else good)
    with pytest.raises(RobustBCError, match="name them with --corrupt or --bad"):
        mix(MixRequest(DRIVING, "rollout", 0.25, clean="our/good-v0"), "our/other-v0")
    with pytest.raises(RobustBCError, match="give both or neither"):
        mix(MixRequest(DRIVING, "rollout", 0.25, corrupt="our/bad-v0"), "our/other-v0")


def test_more_pairs_than_the_episodes_have_are_rolled_out(datasets: Path) -> None:
    settings = {"length": 40.0, "cars": 0}
    _, mixed = mix(MixRequest(DRIVING, "rollout", 0.5, pairs=400, episodes=1, settings=settings), "our/m-v0")
    assert mixed.labels.sum() == 200


def test_any_gymnasium_task_can_be_collected_and_trained_on(datasets: Path) -> None:
    collect("Pendulum-v1", "random", "our/pendulum-v0", episodes=2)
    policy = fit(Demonstrations.from_minari("our/pendulum-v0"), "mlp", steps=20, device="cpu")
    policy.save(datasets / "policy")
    collect("Pendulum-v1", str(datasets / "policy"), "our/again-v0", episodes=1)
    (about,) = minari.load_dataset("our/again-v0").storage.get_episode_metadata([0])
    assert about["source"] == "policy"


def test_a_pickle_is_read_only_when_trusted(datasets: Path, tmp_path: Path) -> None:
    model = sb3.A2C("MlpPolicy", gym.make("Pendulum-v1"), n_steps=5, seed=0)
    model.save(tmp_path / "model.zip")
    with pytest.raises(RobustBCError, match="say --trust-pickle if you trust it"):
        collect("Pendulum-v1", str(tmp_path / "model.zip"), "our/p-v0", episodes=1)
    collect("Pendulum-v1", str(tmp_path / "model.zip"), "our/p-v0", episodes=1, trust_pickle=True)
    pairs = Demonstrations.from_minari("our/p-v0")
    actions, _ = model.predict(pairs.observations.astype(np.float32), deterministic=True)
    np.testing.assert_allclose(pairs.actions, actions, rtol=1e-4, atol=1e-5)
    (tmp_path / "broken.zip").write_bytes(b"PK")
    with pytest.raises(RobustBCError, match="cannot be read as a model of Stable-Baselines3"):
        collect("Pendulum-v1", str(tmp_path / "broken.zip"), "our/q-v0", episodes=1, trust_pickle=True)


def test_bad_requests_get_one_sentence(datasets: Path, tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"has no teacher 'sage'; its teachers are .*safe, careless, random"):
        collect("lane-driving", "sage", "our/x-v0")
    with pytest.raises(RobustBCError, match="'Pendulum-v1' has no teacher 'expert'"):
        collect("Pendulum-v1", "expert", "our/x-v0")
    with pytest.raises(RobustBCError, match="episodes must be at least 1"):
        collect("lane-driving", "safe", "our/x-v0", episodes=0)
    for name in ("no version", "our/x", "../x-v0/"):
        with pytest.raises(RobustBCError, match="an id looks like mine/demos-v0"):
            collect("lane-driving", "safe", name)
    (datasets / "our/x-v0").mkdir(parents=True)
    with pytest.raises(RobustBCError, match="it is not a dataset"):
        check_free("our/x-v0", overwrite=True)
    policy = fit(Demonstrations.from_arrays(np.zeros((4, 7)), np.zeros((4, 1))), "mlp", steps=1, device="cpu")
    policy.save(tmp_path / "seven")
    with pytest.raises(RobustBCError, match="takes observations of 7 numbers, but the task has 4"):
        collect("lane-driving", str(tmp_path / "seven"), "our/y-v0")
    assert not local_datasets()


def test_a_summary_tells_sources_returns_and_histograms(datasets: Path, tmp_path: Path) -> None:
    collect("lane-driving", "careless", "our/x-v0", episodes=4)
    summary = summarise("our/x-v0")
    pairs = Demonstrations.from_minari("our/x-v0")
    (source,) = summary.sources
    assert (source.source, source.episodes, source.pairs) == ("careless", 4, len(pairs))
    returns = [episode.rewards.sum() for episode in minari.load_dataset("our/x-v0").iterate_episodes()]
    assert source.return_mean == pytest.approx(np.mean(returns))
    assert source.return_std == pytest.approx(np.std(returns))
    assert set(source.metrics) == {metric.name for metric in DRIVING.metrics}
    assert summary.counts.sum() == len(pairs)
    assert summary.edges[0, 0] == pytest.approx(-np.pi / 4)
    assert summary.corrupt_known is None
    draw_summary(summary, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_random_actions_stay_in_the_space() -> None:
    largest = np.finfo(np.float64).max
    low, high = np.array([0.0, -np.inf, -largest]), np.array([np.inf, 2.0, largest])
    space = gym.spaces.Box(low, high, dtype=np.float64)
    actions = random_actions(space, 1000, np.random.default_rng(0))
    assert all(space.contains(action) for action in actions)
    assert np.abs(actions).max() < 10


def test_random_actions_fill_the_space_or_are_normal() -> None:
    space = gym.spaces.Box(np.array([-1.0, -np.inf, 2.0]), np.array([1.0, np.inf, 4.0]), dtype=np.float64)
    actions = random_actions(space, 4000, np.random.default_rng(0))
    assert np.abs(actions.mean(0) - [0, 0, 3]).max() < 0.06
    assert np.abs(actions.std(0) - [3**-0.5, 1, 3**-0.5]).max() < 0.04


def test_shipped_teachers_are_known_by_name() -> None:
    for name in ("halfcheetah", "walker2d", "lane-driving"):
        task = find_task(name)
        assert teacher_names(task)[:2] == ["expert", "adversary"]
        seen, done = boxes(make_batch(task, 1))
        assert find_teacher(task, "expert", seen, done).name == f"{name}-expert"
