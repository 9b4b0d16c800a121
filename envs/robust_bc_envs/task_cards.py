"""What a task card says: the environment, the reversed reward, the metrics, and how the task's teachers are trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robust_bc.evaluation.metrics import Metric, Reference


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
    development: bool = False
    """Whether settings may be chosen on this task; on all others, the test tasks, they are only measured."""
    reverse: str = "the negated reward"
    """What an adversary is rewarded for, in words."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment."""
    reversed_settings: Mapping[str, Any] | None = None
    """Keyword arguments that reverse the reward; without any, the reward is negated."""
    negated: bool = False
    """Whether the reward under `reversed_settings` is negated as well: these only take something out of it."""
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
