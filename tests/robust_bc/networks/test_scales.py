"""Units are the user's affair: what is learned from numbers of any size is the same but for their scale."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from robust_bc import Demonstrations, RobustBCError, audit, fit, load_policy
from tests.conftest import make_pairs, quick
from tests.robust_bc.auditing.toys import flipped_episodes

METHODS = ("mlp", "choicenet", "gpr", "rgpr")
SCALES = (1e-310, 1e-160, 1e200, 1e299)


def scaled(pairs: Demonstrations, observations: float = 1.0, actions: float = 1.0) -> Demonstrations:
    return Demonstrations.from_arrays(pairs.observations * observations, pairs.actions * actions, pairs.episodes)


@pytest.mark.parametrize("method", METHODS)
def test_a_policy_does_not_depend_on_units(method: str, tmp_path: Path) -> None:
    pairs = make_pairs(0, 60)
    usual = fit(pairs, method, device="cpu", **quick(method)).predict(pairs.observations)[0].astype(np.float64)
    for scale in SCALES:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            policy = fit(scaled(pairs, actions=scale), method, device="cpu", **quick(method))
            actions = policy.predict(pairs.observations)[0]
            assert np.isfinite(policy.mixture(pairs.observations).means).all()
            seen = fit(scaled(pairs, observations=scale), method, device="cpu", **quick(method))
            actions_of_seen = seen.predict(pairs.observations * scale)[0]
        np.testing.assert_allclose(actions / scale, usual, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(actions_of_seen, usual, rtol=1e-4, atol=1e-5)
        again = load_policy(policy.save(tmp_path / f"{scale}"), device="cpu")
        np.testing.assert_array_equal(again.predict(pairs.observations)[0], actions)


@pytest.mark.parametrize("method", METHODS)
def test_an_action_is_finite_however_far_the_observation(method: str) -> None:
    pairs = make_pairs(0, 60)
    policy = fit(scaled(pairs, actions=1e299), method, device="cpu", **quick(method))
    far = np.array([[1e40, 0, 0], [-1.7e308, 1.7e308, 0], [1e-320, 0, 5e-324]])
    for deterministic in (True, False):
        assert np.isfinite(policy.predict(far, deterministic=deterministic)[0]).all()


def test_an_action_has_the_type_of_its_space_and_fits_into_it() -> None:
    pairs = make_pairs(0, 60)
    space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    given = Demonstrations.from_arrays(pairs.observations, pairs.actions * 1e200, action_space=space)
    actions = fit(given, "gpr", device="cpu").predict(pairs.observations)[0]
    assert actions.dtype == np.float32
    assert np.isfinite(actions).all()
    assert fit(pairs, "gpr", device="cpu").predict(pairs.observations)[0].dtype == np.float32


def test_an_audit_does_not_depend_on_units() -> None:
    pairs = flipped_episodes(0.3, episodes=10)
    usual = audit(pairs)
    assert usual.bad_episodes.any()
    for scale in (1e-310, 1e299):
        found = audit(scaled(pairs, scale, scale))
        np.testing.assert_allclose(found.clean, usual.clean, atol=1e-2)
        np.testing.assert_array_equal(found.bad_episodes, usual.bad_episodes)


@pytest.mark.parametrize("name", ["observations", "actions"])
@pytest.mark.parametrize("value", [1.7e308, -1e301])
def test_what_is_too_large_to_reckon_with_is_refused(name: str, value: float) -> None:
    values = {"observations": np.ones((4, 2)), "actions": np.ones((4, 2))}
    values[name][2, 1] = value
    with pytest.raises(RobustBCError, match=rf"{name} must lie between .*, but row 2, column 1 is .*e\+30") as caught:
        Demonstrations.from_arrays(values["observations"], values["actions"])
    assert "\n" not in str(caught.value)


def test_a_successor_may_be_anywhere() -> None:
    """A simulation that went wrong in its last step must not keep anybody from learning from what came before."""
    pairs = make_pairs(0, 60)
    after = np.array(pairs.observations)
    after[-1] = 1.7e308
    given = Demonstrations.from_arrays(pairs.observations, pairs.actions, pairs.episodes, successors=after)
    assert np.isfinite(audit(given).clean).all()
