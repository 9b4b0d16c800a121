"""What a training step may not do: stay on the CPU, wait for the device, use float64, or build the weights."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from robust_bc import Demonstrations, fit
from robust_bc.training.plan import FitPlan
from robust_bc.training.step import make_optimiser, training_step
from robust_bc.training.trainer import Trainer
from tests.conftest import NETWORK_METHODS, QUICK, make_pairs, network_method


def make_trainer(name: str, device: str, **given: Any) -> Trainer:
    settings = {"hidden": (8, 8), "batch_size": 16, "early_stopping": True, **given}
    plan = FitPlan.make([make_pairs(0)], name, 3, [0], "cpu", settings)
    return dataclasses.replace(plan, device=torch.device(device)).trainer([0])


def full_step(trainer: Trainer, progress: float) -> list[torch.Tensor]:
    """A training step and a look at the held-out pairs; all tensors that have come of it."""
    device = trainer.device
    shape = trainer.fleet.head.noise_shape(16)
    networks = len(trainer.seeds)
    noise = torch.zeros(networks, *shape, device=device) if shape else None
    x, y = torch.zeros(networks, 3, 16, device=device), torch.zeros(networks, 2, 16, device=device)
    terms = training_step(trainer.fleet, trainer.method, trainer.settings, trainer.optimiser, x, y, noise, progress)
    assert set(terms.parts) <= set(trainer.method.part_names)
    gradients = [parameter.grad for parameter in trainer.parameters if parameter.grad is not None]
    moments = [trainer.optimiser.state[p][key] for p in trainer.parameters for key in ("exp_avg", "exp_avg_sq")]
    return [trainer.look(), trainer.score, trainer.stale, terms.total, *terms.parts.values(), *gradients, *moments]


each_kind = pytest.mark.parametrize(
    ("name", "given"),
    [(name, {}) for name in NETWORK_METHODS] + [("choicenet", {"noise": noise}) for noise in ("local", "shared")],
)


@each_kind
def test_a_full_step_leaves_nothing_on_the_cpu(name: str, given: dict[str, Any]) -> None:
    """Every tensor is on the `meta` device: one left behind, or one look at a value, would be an error."""
    trainer = make_trainer(name, "meta", **given)
    for progress in (0.0, 0.5):
        tensors = full_step(trainer, progress)
    assert len(tensors) > 3 * len(trainer.parameters)
    assert {tensor.device.type for tensor in [*tensors, *trainer.parameters, *trainer.best]} == {"meta"}


class NoHostSynchronisation(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses to hand a value to Python, for which a device would have to be waited for."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func not in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.is_nonzero.default), func
        return func(*args, **(kwargs or {}))


@each_kind
def test_a_step_does_not_wait_for_the_device(name: str, given: dict[str, Any]) -> None:
    trainer = make_trainer(name, "cpu", **given)
    with NoHostSynchronisation():  # type: ignore[no-untyped-call]
        full_step(trainer, 0.0)
        with pytest.raises(AssertionError):
            trainer.score[0].item()


class NoDoublePrecision(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses float64 tensors, which MPS devices do not have."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            assert not isinstance(value, torch.Tensor) or value.dtype != torch.float64, func
        return result


@each_kind
def test_no_tensor_is_double(name: str, given: dict[str, Any]) -> None:
    with NoDoublePrecision():  # type: ignore[no-untyped-call]
        policy = fit(make_pairs(0), name, members=2, device="cpu", restarts=2, **QUICK, **given)
        for deterministic in (True, False):
            policy.predict(np.zeros((4, 3)), deterministic=deterministic)
        policy.mixture(np.zeros(3))


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Remembers the size of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, torch.Tensor):
                self.largest = max(self.largest, value.numel())
        return result


@pytest.mark.parametrize("noise", ["marginal", "local", "shared"])
def test_the_weights_of_the_mixtures_are_never_built(noise: str) -> None:
    """No tensor of a step reaches B·K·Q·D, nor B·K·Q, nor B·Q·D."""
    batch, mixtures, features, actions = 53, 41, 17, 13
    method = network_method("choicenet")
    settings = method.settings({**QUICK, "hidden": (features,), "mixtures": mixtures, "noise": noise})
    fleet = method.fleet(settings, 1, 3, actions)
    optimiser = make_optimiser(list(fleet.parameters()), settings, torch.device("cpu"))
    shape = fleet.head.noise_shape(batch)
    drawn = torch.randn(1, *shape) if shape else None
    x, y = torch.randn(1, 3, batch), torch.randn(1, actions, batch)
    with LargestTensor() as seen:
        training_step(fleet, method, settings, optimiser, x, y, drawn, 0.0)
    assert batch * mixtures * actions <= seen.largest < batch * mixtures * features


def test_the_learning_rate_falls_along_a_cosine(pairs: Demonstrations) -> None:
    trainer = make_trainer("mlp", "cpu", learning_rate=0.4)
    for progress, expected in ((0.0, 0.4), (0.5, 0.2), (0.75, 0.2 * (1 - 0.5**0.5)), (1.0, 0.0)):
        full_step(trainer, progress)
        assert trainer.optimiser.param_groups[0]["lr"] == pytest.approx(expected)
