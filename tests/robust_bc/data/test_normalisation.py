from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robust_bc.data.normalisation import ActionScaling, Affine


def test_columns_have_mean_zero_and_deviation_one() -> None:
    values = np.random.default_rng(0).normal([5, -3], [0.1, 20], (500, 2))
    normalised = Affine.of(values).forward(values)
    np.testing.assert_allclose(normalised.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normalised.std(0), 1, atol=1e-5)


def test_constant_columns_become_zero_and_come_back() -> None:
    values = np.stack([np.full(50, 7.3), np.zeros(50), np.full(50, 1e12), np.arange(50.0)], axis=1)
    affine = Affine.of(values)
    assert affine.scale[:3].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(affine.forward(values)[:, :3], 0)
    np.testing.assert_array_equal(affine.forward(values + 1e6)[:, :3], 0)
    np.testing.assert_array_equal(affine.backward(np.full((50, 4), 9.0))[:, :3], values[:, :3])
    np.testing.assert_allclose(affine.backward(affine.forward(values)), values, rtol=1e-6, atol=1e-5)


def test_time_stamps_keep_their_digits() -> None:
    """In float32 a clock of 1.7e9 seconds would have steps of 128 seconds."""
    clock = 1.7e9 + np.linspace(0, 1, 100)[:, None]
    normalised = Affine.of(clock).forward(clock)[:, 0]
    assert len(np.unique(normalised)) == 100


def test_rounding_of_float32_is_no_information() -> None:
    """1 and the next float32 are one value, and 1.001 at use must not become thousands of deviations."""
    values = np.where(np.arange(100) % 2, np.float32(1), np.nextafter(np.float32(1), np.float32(2)))[:, None]
    assert Affine.of(values).scale[0] == 0
    assert Affine.of(values.astype(np.float64) * 1e-3 + np.arange(100)[:, None] * 1e-6).scale[0] > 0


def test_robust_scaling_ignores_outliers() -> None:
    values = np.random.default_rng(0).normal(2, 0.5, (1000, 1))
    values[:300] = 1e3
    affine = Affine.of(values, "robust")
    assert abs(affine.centre[0] - 2) < 0.5
    assert affine.scale[0] < 1.5
    mostly_constant = np.r_[np.zeros(80), np.ones(20)][:, None]
    assert Affine.of(mostly_constant, "robust").scale[0] == mostly_constant.std()


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (6, 2), elements=st.floats(-1e6, 1e6)))
def test_backward_undoes_forward(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    affine = Affine.of(values)
    back = affine.backward(affine.forward(values))
    np.testing.assert_allclose(back, values, atol=1e-5 * max(1.0, float(np.abs(values).max())))


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (6, 2), elements=st.integers(-100, 100)), st.sampled_from(["standard", "robust"]))
def test_the_unit_of_a_column_changes_nothing_but_its_scale(
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]], kind: ActionScaling
) -> None:
    """Squares of 1e200 are infinite, those of 1e-200 vanish; a power of two as unit changes no digit."""
    usual = Affine.of(values, kind)
    for unit in (2.0**-1000, 2.0**-520, 2.0**-100, 2.0**100, 2.0**520, 2.0**980):
        other = Affine.of(values * unit, kind)
        np.testing.assert_allclose(other.scale / unit, usual.scale, rtol=1e-12)
        np.testing.assert_allclose(other.centre / unit, usual.centre, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(other.forward(values * unit), usual.forward(values), rtol=1e-6, atol=1e-6)


def test_the_smallest_numbers_are_rounding() -> None:
    """Of 5e-324 there is only 0, 1, 2 ...: a handful of such steps is no information, as elsewhere."""
    assert Affine.of(np.arange(5.0)[:, None] * 5e-324).scale[0] == 0
    assert Affine.of(np.arange(500.0)[:, None] * 5e-324).scale[0] > 0


@settings(max_examples=50, deadline=None)
@given(
    arrays(np.float64, (4, 2), elements=st.floats(-1e300, 1e300)),
    arrays(np.float64, (3, 2), elements=st.floats(allow_nan=False, allow_infinity=False)),
)
def test_whatever_is_finite_stays_finite(
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]], asked: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    affine = Affine.of(values)
    seen = np.concatenate([affine.forward(values), affine.forward(asked)])
    assert np.isfinite(seen).all()
    assert np.isfinite(seen**2).all(), "squares in float32, too"
    assert (seen[:, affine.scale == 0] == 0).all()
