"""Writes demonstrations of mixed quality as a small Minari dataset, as you would write your own arrays.

    python scripts/example_dataset.py [--dataset example/mixed-v0]

500 pairs of 17 observations and 6 actions, in one-step episodes; 30 % of the actions are negated.
"""

from __future__ import annotations

import warnings

import minari
import numpy as np
import tyro
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

from robust_bc.benchmark.teachers import ACTIONS, OBSERVATIONS, make_teacher_task


def main(dataset: str = "example/mixed-v0", rate: float = 0.3, seed: int = 0) -> None:
    """Make the pairs and hand them to Minari, episode by episode."""
    warnings.simplefilter("ignore")  # Minari warns that no environment belongs to these data, which is so
    if dataset in minari.list_local_datasets():
        print(f"{dataset} is there already")
        return
    pairs = make_teacher_task("flip", rate, seed).demonstrations
    episodes = [
        EpisodeBuffer(
            id=index,
            observations=[observation, observation],  # Minari keeps one more observation than actions
            actions=[action],
            rewards=[0.0],
            terminations=[False],
            truncations=[True],
        )
        for index, (observation, action) in enumerate(zip(pairs.observations, pairs.actions, strict=True))
    ]
    minari.create_dataset_from_buffers(
        dataset,
        buffer=episodes,
        observation_space=spaces.Box(-np.inf, np.inf, (OBSERVATIONS,), np.float64),
        action_space=spaces.Box(-1.2, 1.2, (ACTIONS,), np.float64),
        description=f"a random teacher, {rate:.0%} of its actions negated",
        algorithm_name="robust_bc.benchmark.teachers",
        author="robust-bc",
        author_email="none@example.org",
        code_permalink="none",
    )
    print(f"wrote {dataset}")


if __name__ == "__main__":
    tyro.cli(main)
