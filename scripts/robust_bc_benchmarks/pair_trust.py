"""Figures of how far each pair was trusted: leverages of `lgpr`, assignments of `rgpr`."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.policies.policy import Policy

COLOURS = "viridis"
LINE_POINTS = 500
_GOOD, _BAD, _LINE = "#0072B2", "#D55E00", "#000000"


def pair_trust_figure(policy: Policy, demonstrations: Demonstrations) -> Figure:
    """Trust as colour over the pairs where there is one observation; else trust in order, bad pairs marked."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axis = figure.subplots()
    draw_pair_trust(axis, policy, demonstrations)
    if demonstrations.observation_size == 1:
        add_colour_bar(figure, [axis])
    return figure


def draw_pair_trust(axis: Axes, policy: Policy, demonstrations: Demonstrations) -> None:
    """The same in one's own axes."""
    trust = _trust(policy, demonstrations)
    if demonstrations.observation_size == 1:
        _draw_over_pairs(axis, policy, demonstrations, trust)
    else:
        _draw_in_order(axis, demonstrations, trust)
    axis.set_title(f"{policy.method.name}: how far each pair was trusted", fontsize="medium")
    axis.spines[["top", "right"]].set_visible(False)


def add_colour_bar(figure: Figure, axes: list[Axes]) -> None:
    """What the colours of pairs with one observation mean."""
    figure.colorbar(ScalarMappable(Normalize(0, 1), COLOURS), ax=axes, label="trust", pad=0.02)


def _trust(policy: Policy, demonstrations: Demonstrations) -> NDArray[np.float64]:
    trust = policy.pair_trust
    if trust is None:
        raise RobustBCError(
            f"policy must tell how far it trusted each pair, but '{policy.method.name}' with {policy.members} members"
            " does not; fit 'lgpr' or 'rgpr' with members=1."
        )
    if len(trust) != len(demonstrations):
        raise RobustBCError(
            f"demonstrations has {len(demonstrations)} pairs, but the policy was fitted to {len(trust)}; give those."
        )
    return trust


def _draw_over_pairs(axis: Axes, policy: Policy, demonstrations: Demonstrations, trust: NDArray[np.float64]) -> None:
    """The first action against the observation, and what the policy does."""
    x, y = demonstrations.observations[:, 0], demonstrations.actions[:, 0]
    order = np.argsort(-trust, kind="stable")  # doubtful pairs on top
    axis.scatter(x[order], y[order], c=trust[order], s=9, cmap=COLOURS, vmin=0, vmax=1, linewidths=0)
    line = np.linspace(x.min(), x.max(), LINE_POINTS)
    axis.plot(line, policy.predict(line[:, None])[0][:, 0], color=_LINE, lw=1.2, label="the policy")
    axis.set(xlabel="observation", ylabel="action")
    axis.legend(frameon=False, fontsize="small")


def _draw_in_order(axis: Axes, demonstrations: Demonstrations, trust: NDArray[np.float64]) -> None:
    """Trust from the least to the most trusted pair."""
    order = np.argsort(trust, kind="stable")
    place = np.arange(len(trust))
    corrupt = demonstrations.corrupt
    groups = (
        [("pairs", np.ones(len(trust), np.bool_), _GOOD)]
        if corrupt is None
        else [("good pairs", ~corrupt[order], _GOOD), ("bad pairs", corrupt[order], _BAD)]
    )
    for label, mine, colour in groups:
        axis.scatter(place[mine], trust[order][mine], s=9, color=colour, linewidths=0, label=label)
    axis.set(xlabel="pairs, least trusted first", ylabel="trust", ylim=(-0.03, 1.03))
    axis.legend(frameon=False, fontsize="small")
