"""The same seed gives the same policy: actions that were written down, for whoever changes the learners by accident."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, fit

ACTIONS = {
    "mlp": [[-0.3797, 0.2529], [-0.1322, 0.0641], [0.1531, 0.6230]],
    "mdn": [[-0.7935, 0.6174], [-0.1589, -0.0482], [0.4920, 0.7827]],
    "choicenet": [[-0.7852, 0.4353], [-0.2539, -0.0454], [0.5020, 0.8907]],
    "gpr": [[-0.8448, 0.3768], [-0.2478, 0.0013], [0.4809, 0.7568]],
    "rgpr": [[-0.8418, 0.3773], [-0.2476, 0.0000], [0.4809, 0.7567]],
}
"""To the bit they depend on the machine."""


@pytest.mark.parametrize("method", ACTIONS)
def test_a_method_learns_what_it_learned_before(method: str) -> None:
    generator = np.random.default_rng(0)
    states = generator.normal(size=(400, 3))
    actions = np.stack([np.sin(states[:, 0]), states[:, 1] * states[:, 2]], 1)
    actions[:80] *= -1
    pairs = Demonstrations.from_arrays(states, actions, np.repeat(np.arange(20), 20))
    small: dict[str, Any] = {"steps": 200, "hidden": (64, 64), "batch_size": 128}
    settings = small if method in ("mlp", "mdn", "choicenet") else {}
    policy = fit(pairs, method=method, seed=5, **settings)
    acted, _ = policy.predict(np.linspace(-1, 1, 9).reshape(3, 3))
    assert acted == pytest.approx(np.array(ACTIONS[method]), abs=0.003)
