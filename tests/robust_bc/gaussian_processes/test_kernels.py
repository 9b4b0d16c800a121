"""Kernels: two ways to compute each, what they are made of, and how they go on where nothing is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, fit, load_policy
from robust_bc.gaussian_processes.kernels import KERNELS, Kernel, WideNetwork

every_kernel = pytest.mark.parametrize("kernel", [kind(0.8) for kind in KERNELS.values()], ids=KERNELS)


@every_kernel
def test_rows_and_batches_have_the_same_kernel(kernel: Kernel) -> None:
    stream = np.random.default_rng(0)
    known = stream.normal(size=(100, 3))
    new = np.concatenate((stream.normal(size=(7, 3)), known))  # at known inputs rounding makes cosines above one
    batch = kernel.between(torch.from_numpy(new), torch.from_numpy(known))
    np.testing.assert_allclose(kernel.to_known(known)(new)[:, 0], batch, atol=1e-12)
    np.testing.assert_allclose(kernel.among(torch.from_numpy(new)).diagonal(), kernel.variances(torch.from_numpy(new)))
    centre = torch.zeros(1, 3, dtype=torch.float64)
    assert kernel.between(centre, centre).item() == pytest.approx(1)


@every_kernel
def test_is_positive_definite_also_with_equal_opposite_and_far_inputs(kernel: Kernel) -> None:
    near = torch.from_numpy(np.random.default_rng(1).normal(size=(20, 2)))
    inputs = torch.cat((near, near, -near, 1e3 * near, torch.zeros(2, 2)))
    values = torch.linalg.eigvalsh(kernel.among(inputs))
    assert values.isfinite().all()
    assert values.min() > -1e-12 * values.max()


@every_kernel
def test_slopes_are_those_of_differences_and_finite_where_inputs_meet(kernel: Kernel) -> None:
    stream = torch.Generator().manual_seed(6)
    known = torch.randn(30, 3, generator=stream, dtype=torch.float64)
    new = torch.cat((torch.randn(8, 3, generator=stream, dtype=torch.float64), torch.zeros(1, 3).double()))
    for_input, for_known = kernel.slopes(new, known)
    slopes = for_input[..., None] * new[:, None] + for_known[..., None] * known  # (B, N, S)
    for dimension, step in enumerate(1e-5 * torch.eye(3, dtype=torch.float64)):
        literal = (kernel.between(new + step, known) - kernel.between(new - step, known)) / 2e-5
        np.testing.assert_allclose(slopes[..., dimension], literal, atol=1e-8)
    assert all(each.isfinite().all() for each in kernel.slopes(known, known))


def test_the_kernel_of_wide_networks_is_the_covariance_of_wide_networks() -> None:
    networks, units, length = 4000, 100, 1.5
    stream = np.random.default_rng(2)
    inputs = np.array([[0.0, 0.0], [1.0, 0.5], [-2.0, 1.0], [3.0, 3.0]])
    layer = np.broadcast_to(inputs.T / length, (networks, 2, 4))  # (networks, units, inputs)
    for width_before, width in ((1, units), (units, units), (units, 1)):
        weights = stream.normal(size=(networks, width, layer.shape[1])) / np.sqrt(width_before)
        outputs = weights @ layer + stream.normal(size=(networks, width, 1))
        layer = np.sqrt(2) * np.maximum(outputs, 0)  # a rectifier halves the mean square
    found = np.einsum("mui,muj->ij", outputs, outputs) / networks / 3
    expected = WideNetwork(length).among(torch.from_numpy(inputs))
    np.testing.assert_allclose(found, expected, rtol=0.12, atol=0.05)


def test_only_the_kernel_of_wide_networks_goes_on_like_a_line() -> None:
    x = np.linspace(-1, 1, 40)[:, None]
    shown = Demonstrations.from_arrays(x, 0.3 * x)
    line, mean = (fit(shown, "gpr", device="cpu", kernel=name).predict(np.array([[5.0]]))[0] for name in
                  ("wide-network", "squared-exponential"))  # fmt: skip
    assert line.item() == pytest.approx(1.5, rel=0.1)
    assert abs(mean.item()) < 0.3


def test_the_kernel_is_kept_in_the_file(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(30, 2))
    policy = fit(Demonstrations.from_arrays(x, np.sin(x)), "gpr", device="cpu", kernel="wide-network")
    policy.save(tmp_path)
    again = load_policy(tmp_path, "cpu")
    assert np.array_equal(policy.predict(3 * x)[0], again.predict(3 * x)[0])


def test_the_unit_of_length_holds_the_mean_variance_of_wide_networks() -> None:
    stream = np.random.default_rng(5)
    for inputs in (stream.normal(size=(500, 3)), stream.standard_cauchy(size=(500, 3))):
        centred = torch.from_numpy(inputs - inputs.mean(0))
        kernel = WideNetwork(0.5 * WideNetwork.unit(centred, stream))
        assert kernel.variances(centred).mean().item() == pytest.approx(1 + 2 / 3)
    assert WideNetwork.unit(torch.zeros(5, 2), stream) == 1
