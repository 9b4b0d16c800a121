"""What is public, written down, so that a change is seen; and every method as a class."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np
import pytest

import robust_bc
from robust_bc.methods import get_method
from robust_bc.training import learners

LEARNERS = "Auto BCND Background ChoiceNet CoTeaching DensityPower GPR L1 LGPR MDN MLP RGPR Trimmed Tukey TukeyPair"
PUBLIC = {
    "robust_bc": f"{LEARNERS} Audit Demonstrations Evaluation Policy RobustBCError audit evaluate evaluate_fleet fit"
    " fit_fleet load_audit load_policy method_names __version__",
    "robust_bc_envs": "CARDS LANE_DRIVING LaneSettings MujocoBatch Road Task features find_task make_batch"
    " rectangles_overlap step_pose",
    "robust_bc_demos": "Delayed KINDS MixRequest Noisy ScriptedDriver Stuck Teacher collect filter_dataset find_teacher"
    " local_datasets mix teacher_names train_teacher",
}


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package].split())
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'nothing'; it has: "):
        _ = module.nothing


def demonstrations() -> robust_bc.Demonstrations:
    observations = np.random.default_rng(0).normal(size=(60, 3))
    return robust_bc.Demonstrations.from_arrays(observations, np.sin(observations[:, :1]), np.repeat(np.arange(6), 10))


def test_there_is_a_class_for_every_method() -> None:
    found = {name: getattr(robust_bc, name) for name in LEARNERS.split()}
    assert sorted(one.method for one in found.values()) == sorted(robust_bc.method_names())
    for one in found.values():
        assert issubclass(one, (learners.Learner, get_method(one.method).settings_type))
        assert get_method(one.method).summary[1:] in (one.__doc__ or "")


@pytest.mark.parametrize("name", ["ChoiceNet", "GPR"])
def test_a_class_fits_what_its_name_fits(name: str) -> None:
    settings = {"steps": 20, "hidden": (8,), "mixtures": 3} if name == "ChoiceNet" else {"metric": "learned"}
    learner = getattr(robust_bc, name)(**settings)
    pairs = demonstrations()
    one = learner.fit(pairs, seed=3, members=2)
    two = robust_bc.fit(pairs, learner.method, members=2, seed=3, **settings)
    assert all((tensor == two.tensors()[key]).all() for key, tensor in one.tensors().items())
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301 (our own)
        for deterministic in (True, False):
            acted = [policy.predict(pairs.observations, deterministic=deterministic)[0] for policy in (copied, two)]
            assert (acted[0] == acted[1]).all()
            two.reseed(0)
    assert one.observation_space.shape == (3,)
    assert repr(one).startswith(f"Policy(method='{learner.method}', members=2")


def test_a_class_refuses_what_its_settings_refuse() -> None:
    with pytest.raises(robust_bc.RobustBCError, match="setting 'mixtures' must be above 0"):
        robust_bc.ChoiceNet(mixtures=0)
    with pytest.raises(TypeError, match="mixture"):
        robust_bc.ChoiceNet(mixture=3)  # type: ignore[call-arg]
