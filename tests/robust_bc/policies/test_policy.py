from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import load_file, save_file
from stable_baselines3.common.evaluation import evaluate_policy

from robust_bc import Demonstrations, Policy, RobustBCError, fit, load_policy
from robust_bc.data.json_files import sealed
from tests.conftest import QUICK, make_pairs

BATCH = np.random.default_rng(9).normal(size=(7, 3))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return fit(make_pairs(0), "choicenet", members=3, device="cpu", **QUICK)


def test_one_observation_and_a_batch_agree(policy: Policy) -> None:
    actions, state = policy.predict(BATCH)
    assert actions.shape == (7, 2)
    assert actions.dtype == np.float32
    assert state is None
    for observation, action in zip(BATCH, actions, strict=True):
        single, _ = policy.predict(observation)
        assert single.shape == (2,)
        assert np.array_equal(single, action)


def test_the_state_is_handed_through(policy: Policy) -> None:
    state = (np.ones(2),)
    assert policy.predict(BATCH, state=state, episode_start=np.ones(7, dtype=bool))[1] is state


def test_an_ensemble_is_the_mean_of_its_members(policy: Policy) -> None:
    targets = policy.mixture(BATCH).means[:, :, 0]  # (M, B, D)
    np.testing.assert_allclose(policy.predict(BATCH)[0], targets.mean(0), rtol=1e-5, atol=1e-6)


def test_an_mdn_acts_by_its_heaviest_mixture() -> None:
    policy = fit(make_pairs(0), "mdn", device="cpu", **QUICK)
    mixture = policy.mixture(BATCH)
    heaviest = mixture.weights[0].argmax(1)
    np.testing.assert_allclose(policy.predict(BATCH)[0], mixture.means[0, np.arange(7), heaviest], rtol=1e-5)


def test_mixture_shapes_and_meaning(policy: Policy) -> None:
    mixture = policy.mixture(BATCH)
    assert mixture.means.shape == mixture.variances.shape == (3, 7, 3, 2)
    np.testing.assert_allclose(mixture.weights.sum(2), 1, rtol=1e-6)
    assert mixture.correlations is not None
    assert (mixture.correlations[:, :, 0] == 1).all()
    assert (np.abs(mixture.correlations) <= 1).all()
    assert (mixture.variances > 0).all()
    assert fit(make_pairs(0), "mlp", device="cpu", **QUICK).mixture(BATCH).correlations is None


def test_actions_are_clipped_to_the_action_space(pairs: Demonstrations) -> None:
    space = spaces.Box(np.float32(-0.05), np.float32(0.1), (2,))
    bounded = Demonstrations.from_arrays(pairs.observations, pairs.actions, action_space=space)
    policy = fit(bounded, "choicenet", device="cpu", **QUICK)
    for deterministic in (True, False):
        actions, _ = policy.predict(100 * BATCH, deterministic=deterministic)
        assert all(space.contains(action) for action in actions)
    assert len(np.unique(actions)) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_actions_have_the_type_of_the_action_space(pairs: Demonstrations, tmp_path: Path, dtype: Any) -> None:
    """0.1 is another number in float32: an action that is rounded there may lie outside."""
    space = spaces.Box(-0.1, 0.1, (2,), dtype)
    bounded = Demonstrations.from_arrays(pairs.observations, pairs.actions, action_space=space)
    policy = fit(bounded, "choicenet", device="cpu", **QUICK)
    policy.save(tmp_path)
    for one in (policy, load_policy(tmp_path, device="cpu")):
        assert one.action_space == space
        assert all(space.contains(action) for action in one.predict(100 * BATCH)[0])


def test_large_batches_go_in_parts(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, mixture = policy.predict(BATCH)[0], policy.mixture(BATCH)
    monkeypatch.setattr("robust_bc.policies.policy.LARGEST_PASS", 6)  # two rows for three members
    np.testing.assert_allclose(policy.predict(BATCH)[0], whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(policy.mixture(BATCH).means, mixture.means, rtol=1e-5, atol=1e-6)
    assert policy.predict(BATCH, deterministic=False)[0].shape == (7, 2)
    assert policy.predict(np.empty((0, 3)))[0].shape == (0, 2)


def test_sampling_follows_the_mixture(policy: Policy) -> None:
    policy.reseed(0)
    drawn, _ = policy.predict(np.repeat(BATCH[:1], 20_000, axis=0), deterministic=False)
    mixture = policy.mixture(BATCH[0])
    weights = mixture.weights[:, 0, :, None] / policy.members  # (M, K, 1)
    mean = (weights * mixture.means[:, 0]).sum((0, 1))
    variance = (weights * (mixture.variances[:, 0] + mixture.means[:, 0] ** 2)).sum((0, 1)) - mean**2
    np.testing.assert_allclose(drawn.mean(0), mean, atol=4 * np.sqrt(variance / 20_000).max())
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.1)
    policy.reseed(0)
    again, _ = policy.predict(np.repeat(BATCH[:1], 20_000, axis=0), deterministic=False)
    assert np.array_equal(drawn, again)


def test_constant_columns_do_no_harm() -> None:
    pairs = make_pairs(0)
    padded = np.column_stack([pairs.observations, np.full(len(pairs), 3.3)])
    still = np.column_stack([pairs.actions, np.full(len(pairs), 0.7)])
    policy = fit(Demonstrations.from_arrays(padded, still), "choicenet", device="cpu", **QUICK)
    actions, _ = policy.predict(np.column_stack([BATCH, np.full(7, 1e9)]))
    assert np.isfinite(actions).all()
    np.testing.assert_array_equal(actions[:, 2], np.float32(0.7))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros(4), r"shape \(3,\) or \(B, 3\)"),
        (np.zeros((2, 2, 3)), "shape"),
        ([0, np.nan, 0], "must be finite"),
        (["a", "b", "c"], "real numbers"),
    ],
)
def test_bad_observations_are_refused(policy: Policy, observation: Any, message: str) -> None:
    with pytest.raises(RobustBCError, match=message):
        policy.predict(observation)


def test_it_serves_stable_baselines_evaluation() -> None:
    environment = gym.make("Pendulum-v1")
    generator = np.random.default_rng(0)
    observations = np.array([environment.observation_space.sample() for _ in range(100)])
    assert isinstance(environment.action_space, spaces.Box)
    demos = Demonstrations.from_arrays(
        observations, generator.uniform(-2, 2, (100, 1)), action_space=environment.action_space
    )
    policy = fit(demos, "choicenet", members=2, device="cpu", **QUICK)
    mean, deviation = evaluate_policy(policy, environment, n_eval_episodes=2, warn=False)  # type: ignore[arg-type]
    assert -2000 < float(np.mean(mean)) < 0
    assert float(np.mean(deviation)) >= 0


@pytest.mark.parametrize("bounds", [None, (-np.inf, 2.0)])
def test_save_and_load_give_the_same_policy(tmp_path: Path, bounds: tuple[float, float] | None) -> None:
    pairs = make_pairs(0)
    space = None if bounds is None else spaces.Box(np.float32(bounds[0]), np.float32(bounds[1]), (2,))
    demos = Demonstrations.from_arrays(pairs.observations, pairs.actions, action_space=space)
    policy = fit(demos, "choicenet", members=2, device="cpu", **QUICK)
    assert policy.save(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    loaded = load_policy(tmp_path / "a" / "b", device="cpu")
    assert np.array_equal(policy.predict(BATCH)[0], loaded.predict(BATCH)[0])
    assert loaded.settings == policy.settings
    assert loaded.action_space == policy.action_space
    assert repr(loaded) == repr(policy)
    assert {file.name for file in (tmp_path / "a" / "b").iterdir()} == {"config.json", "model.safetensors"}
    policy.save(tmp_path / "a" / "b")  # saving again replaces


def damage(folder: Path, how: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    model = (folder / "model.safetensors").read_bytes()
    if how == "truncated model":
        (folder / "model.safetensors").write_bytes(model[: len(model) // 2])
    elif how == "pickle":
        (folder / "model.safetensors").write_bytes(b"\x80\x04cos\nsystem\n")
    elif how == "no model":
        (folder / "model.safetensors").unlink()
    elif how == "broken config":
        (folder / "config.json").write_text("{")
    else:
        config.update({"foreign config": {"format": "x"}, "future": {"format_version": 99}}.get(how, {}))
        if how == "unknown method":
            config["method"] = "magic"
        if how == "unknown setting":
            config["settings"]["magic"] = 1
        if how == "missing setting":
            del config["settings"]["steps"]
        if how == "other size":
            config["members"] = 7
        if how == "beyond all memory":
            config["settings"]["hidden"] = [10**5, 10**5]
        if how == "crossed bounds":
            config |= {"action_low": [1.0, 1.0], "action_high": [0.0, 2.0], "action_type": "float32"}
        config.pop("sha256")
        if how == "by hand":
            config["members"], config["sha256"] = 7, "0" * 64
        (folder / "config.json").write_text(json.dumps(config if how == "by hand" else sealed(config)))


def rewrite(folder: Path, **changed: Any) -> None:
    """Other tensors, by somebody who makes the checksums right."""
    tensors = load_file(folder / "model.safetensors") | changed
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["tensors_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    config.pop("sha256")
    (folder / "config.json").write_text(json.dumps(sealed(config)))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("truncated model", "is not a whole safetensors file"),
        ("pickle", "is not a whole safetensors file"),
        ("no model", "is not the folder of a policy"),
        ("broken config", "is not valid JSON"),
        ("foreign config", "is no policy of robust-bc"),
        ("by hand", "was damaged, or changed by hand"),
        ("future", "has format version 99"),
        ("unknown method", "cannot be used: there is no method 'magic'"),
        ("unknown setting", "cannot be used: method 'choicenet' has no setting 'magic'"),
        ("missing setting", "cannot be used: the setting 'steps' is missing"),
        ("other size", "must be float32 of shape"),
        ("beyond all memory", "must be float32 of shape"),
        ("crossed bounds", "action_low is above action_high"),
    ],
)
def test_damaged_folders_get_one_sentence(policy: Policy, tmp_path: Path, how: str, message: str) -> None:
    policy.save(tmp_path)
    damage(tmp_path, how)
    with pytest.raises(RobustBCError, match=message) as caught:
        load_policy(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observations.scale": np.array([1.0, -1.0, 1.0])}, "a scale is below zero"),
        ({"observations.scale": np.array([1.0, np.nan, 1.0])}, "'observations.scale' has numbers that are not finite"),
        ({"observations.scale": np.ones(4)}, r"must be float64 of shape \(3,\), but it is float64 of shape \(4,\)"),
        ({"observations.scale": None}, "has no tensor 'observations.scale'"),
        ({"model.magic": np.ones(4)}, "has an unknown tensor 'model.magic'"),
    ],
)
def test_tensors_that_were_changed_on_purpose(
    policy: Policy, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    policy.save(tmp_path)
    rewrite(tmp_path, **changed)
    with pytest.raises(RobustBCError, match=message):
        load_policy(tmp_path)


def test_a_model_of_another_policy_is_noticed(policy: Policy, tmp_path: Path) -> None:
    policy.save(tmp_path / "one")
    fit(make_pairs(1), "choicenet", members=3, device="cpu", **QUICK).save(tmp_path / "two")
    (tmp_path / "two" / "model.safetensors").replace(tmp_path / "one" / "model.safetensors")
    with pytest.raises(RobustBCError, match="belongs to another policy"):
        load_policy(tmp_path / "one")


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match="there is no folder"):
        load_policy(tmp_path / "nothing")


@pytest.mark.parametrize("method", ["mdn", "choicenet"])
def test_mixtures_far_from_the_data_are_still_numbers(method: str) -> None:
    policy = fit(make_pairs(0), method, device="cpu", **QUICK)
    mixture = policy.mixture(1e8 * BATCH)
    assert np.isfinite(mixture.variances).all()
    assert np.isfinite(mixture.means).all()
    assert np.isfinite(policy.predict(1e8 * BATCH, deterministic=False)[0]).all()


def test_one_mixture_is_a_choicenet_too(pairs: Demonstrations) -> None:
    policy = fit(pairs, "choicenet", device="cpu", mixtures=1, rivals=0, **QUICK)
    assert policy.mixture(BATCH).weights.shape == (1, 7, 1)
