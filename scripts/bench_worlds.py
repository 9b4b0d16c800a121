"""`make bench`, its second half: speed of the worlds and of collecting."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import gymnasium as gym
import numpy as np

import robust_bc_envs
from robust_bc.evaluation.rollouts import episode_seeds
from robust_bc_benchmarks.comparisons import Comparison, fastest, report
from robust_bc_demos.collecting import collect
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import find_task

ROADS = 4096
ROAD_STEPS = 300
EPISODES = 16
TURNS = 3


def collecting_rates(name: str, teacher_name: str) -> tuple[float, float]:
    """Steps a second: one environment in a loop that keeps its lists, and `collect` with everything on disk."""
    task = find_task(name)
    worlds = make_batch(task, 1)
    teacher = find_teacher(task, teacher_name, *boxes(worlds))
    worlds.close()
    with quiet_mujoco():
        environment = gym.make(task.environment, **task.settings)
    seeds = episode_seeds(0, EPISODES)
    counts = {"loop": 0}

    def loop() -> None:
        counts["loop"] = sum(_episode(environment, teacher, seed) for seed in seeds)

    def batched() -> None:
        collect(name, teacher_name, "bench/collected-v0", episodes=EPISODES, overwrite=True)

    alone, together = fastest(loop, batched, turns=TURNS)
    return counts["loop"] / alone, counts["loop"] / together


def _episode(environment: gym.Env[Any, Any], teacher: Teacher, seed: int) -> int:
    observation, _ = environment.reset(seed=seed)
    teacher.begin(1, np.zeros(1, np.intp), [np.random.default_rng(seed)])
    kept: list[Any] = []
    over = False
    while not over:
        action = teacher.act(observation[None])[0]
        following, reward, terminated, truncated, _ = environment.step(action)
        kept.append((observation, action, reward))
        observation, over = following, terminated or truncated
    return len(kept)


def road_rates() -> tuple[float, float]:
    """Roads a second: one by one, and thousands at once."""
    single = gym.make(robust_bc_envs.LANE_DRIVING)
    many = gym.make_vec(robust_bc_envs.LANE_DRIVING, ROADS, vectorization_mode="vector_entry_point")
    generator = np.random.default_rng(0)
    actions = generator.normal(scale=0.05, size=(ROAD_STEPS, ROADS, 1)).astype(np.float32)

    def alone() -> None:
        single.reset(seed=0)
        for action in actions[:, 0]:
            if single.step(action)[2]:
                single.reset()

    def together() -> None:
        many.reset(seed=0)
        for action in actions:
            many.step(action)

    one, all_of_them = fastest(alone, together, turns=TURNS)
    return ROAD_STEPS / one, ROAD_STEPS * ROADS / all_of_them


def main() -> None:
    """Measure, print, and fail if something that is wanted was missed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        rates = {
            name: collecting_rates(name, teacher)
            for name, teacher in (("halfcheetah", "expert"), ("walker2d", "expert"), ("lane-driving", "safe"))
        }
    one, many = road_rates()
    unbounded = float("inf")
    rows = [
        Comparison(
            f"collect_{name}",
            f"collecting {EPISODES} episodes of {name}, to disk / one environment in a loop, steps a second",
            f"{together:,.0f} / {alone:,.0f}",
            together / alone,
            (2.0, unbounded),
        )
        for name, (alone, together) in rates.items()
    ]
    rows.append(
        Comparison(
            "vectorised_road",
            f"{ROADS} roads at once / one road, roads a second",
            f"{many:,.0f} / {one:,.0f}",
            many / one,
            (100.0, unbounded),
        )
    )
    if not report("make bench, worlds", rows, "--json" in sys.argv[1:]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
