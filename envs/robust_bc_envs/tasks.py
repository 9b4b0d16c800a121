"""Task cards: which environment, what its reversed reward is, what is measured, and how its teachers are trained."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from robust_bc.errors import RobustBCError
from robust_bc.metrics import Metric, Reference


@dataclass(frozen=True)
class PPOSettings:
    """How PPO trains a teacher; the defaults serve the MuJoCo walkers."""

    steps: int = 2_000_000
    """Environment steps of an expert."""
    reversed_steps: int = 1_000_000
    """Environment steps of an adversary."""
    environments: int = 8
    rollout: int = 512
    """Steps of each environment between two updates."""
    batch_size: int = 256
    epochs: int = 10
    learning_rate: float = 3e-4
    """Falls linearly to zero."""
    hidden: tuple[int, ...] = (128, 128)
    log_std_init: float = -1.0
    gamma: float = 0.99
    gae_lambda: float = 0.95


@dataclass(frozen=True)
class Task:
    """What the toolkit knows about one task. A task without a card has an environment and nothing else."""

    name: str
    environment: str
    """Gymnasium id."""
    summary: str
    reverse: str = "the negated reward"
    """What an adversary is rewarded for, in words."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment."""
    reversed_settings: Mapping[str, Any] | None = None
    """Keyword arguments that reverse the reward; without any, the reward is negated."""
    metrics: tuple[Metric, ...] = ()
    reference: Reference | None = None
    """Returns of random actions and of the good teacher, under the task's own settings."""
    good: str = "expert"
    bad: str = "adversary"
    """The teachers whose demonstrations are mixed, unless others are named."""
    episodes: int = 10
    """How many of their episodes single pairs are drawn from, unless said otherwise."""
    disturbance: float = 0.0
    """How much their hands are shaken when pairs are drawn for a mix, as a share of half the action space."""
    ppo: PPOSettings = field(default_factory=PPOSettings)


FORWARD = Metric("x_velocity", "x_velocity", "mean")

# The references are what these print (lane-driving: --policy random,safe --episodes 1000), without the last digits, in
# which machines differ:
#     robust-bc evaluate --task halfcheetah --policy random,expert --episodes 100 --seed 12345

CARDS = {
    card.name: card
    for card in (
        Task(
            name="halfcheetah",
            environment="HalfCheetah-v5",
            summary="a cheetah in the plane runs forward",
            reverse="running backward: the forward reward with its sign flipped, the same control cost",
            reversed_settings={"forward_reward_weight": -1.0},
            metrics=(FORWARD,),
            reference=Reference(random=-287.0, expert=5896.0),
            disturbance=0.3,
            ppo=PPOSettings(steps=2_000_000, reversed_steps=1_000_000),
        ),
        Task(
            name="walker2d",
            environment="Walker2d-v5",
            summary="a biped in the plane walks forward without falling",
            reverse="walking backward: the forward reward with its sign flipped, the same cost and survival reward",
            reversed_settings={"forward_reward_weight": -1.0},
            metrics=(FORWARD,),
            reference=Reference(random=1.0, expert=5809.0),
            disturbance=0.2,
            ppo=PPOSettings(steps=2_000_000, reversed_steps=1_000_000),
        ),
        Task(
            name="lane-driving",
            environment="RobustBC/LaneDriving-v0",
            summary="a car keeps its lane and passes static cars",
            reverse="what the expert loses: collisions, leaving the road and deviating from the lane",
            reversed_settings={"reward": "reversed"},
            metrics=(
                Metric("collision", "collision", "last", "rate"),
                Metric("off_road", "off_road", "last", "rate"),
                Metric("success", "success", "last", "rate"),
                Metric("lane_deviation_rms", "lane_deviation_rms", "last"),
                Metric("progress_m", "progress_m", "last"),
            ),
            reference=Reference(random=-33.2, expert=195.95),
            good="safe",
            bad="careless",
            episodes=100,  # short ones, each with two or three lane changes
            ppo=PPOSettings(
                steps=2_000_000, reversed_steps=1_000_000, environments=64, rollout=128, batch_size=1024, gamma=0.995
            ),
        ),
    )
}


def find_task(name: str) -> Task:
    """The card of that name or of that environment; any other Gymnasium id with Boxes is a task without a card."""
    module, _, known_as = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        for card in CARDS.values():
            if known_as in (card.name, card.environment):
                return card
        gym.spec(known_as)
    except Exception as problem:  # a module may raise anything
        raise RobustBCError(
            f"there is no task '{name}'; the cards are {', '.join(CARDS)}, and any Gymnasium id works as well"
            " (module:Id-v0 imports the module first)."
        ) from problem
    return Task(name=known_as, environment=known_as, summary="a Gymnasium environment")
