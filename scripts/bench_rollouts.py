"""`make bench`, its third part: speed of evaluation against Gymnasium, Stable-Baselines3 and the bare simulator."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from robust_bc import Demonstrations, Policy, evaluate, evaluate_fleet, fit
from robust_bc.evaluation.evaluating import play
from robust_bc.evaluation.rollouts import Episode, episode_seeds
from robust_bc_benchmarks.comparisons import Comparison, fastest, report
from robust_bc_demos.network_teacher import load_network_teacher
from robust_bc_demos.teachers import SHIPPED
from robust_bc_envs.mujoco_batch import usable_cores
from robust_bc_envs.mujoco_simulations import simulate
from robust_bc_envs.quiet import quiet_mujoco

ENVIRONMENT = "HalfCheetah-v5"
EPISODES = 100
STEPS = 1000
FLEET = 10
FLEET_STEPS = 200
SYNC_STEPS = 200
SINGLE_EPISODES = 2
TURNS = 3


def clones(count: int) -> list[Policy]:
    """ChoiceNet policies of the default size that run like the shipped expert, so that the work is the usual one."""
    expert = load_network_teacher(SHIPPED / "halfcheetah-expert")
    shown = play(expert, ENVIRONMENT, episode_seeds(0, 2))
    pairs = Demonstrations.from_arrays(
        np.concatenate([episode.observations[:-1] for episode in shown]),
        np.concatenate([episode.actions for episode in shown]),
        action_space=gym.spaces.Box(-1.0, 1.0, (6,), np.float32),
    )
    return [fit(pairs, "choicenet", steps=300, hidden=(64, 64), batch_size=128, seed=seed) for seed in range(count)]


class Bare:
    """The same simulations with the same actions, and nothing but simulation."""

    def __init__(self, episodes: list[Episode]) -> None:
        with quiet_mujoco():
            world: Any = gym.make(ENVIRONMENT).unwrapped
        self.frame_skip, self.model = world.frame_skip, world.model
        self.actions = np.stack([episode.actions for episode in episodes], axis=1).astype(np.float64)  # (T, N, A)
        first = np.stack([episode.observations[0] for episode in episodes])  # (N, S): all but the place along the track
        self.positions = np.concatenate([np.zeros((len(first), 1)), first[:, : self.model.nq - 1]], axis=1)
        self.velocities: NDArray[np.float64] = first[:, self.model.nq - 1 :]

    def __call__(self) -> None:
        count = len(self.positions)
        simulations = simulate(self.model, self.frame_skip, count, usable_cores())
        with quiet_mujoco():
            simulations.place(np.arange(count), self.positions, self.velocities)
            for actions in self.actions:
                simulations.step(actions)
        simulations.close()


def sync_loop(policy: Policy, steps: int) -> Any:
    """The loop that people write around Gymnasium's own vector environment."""
    with quiet_mujoco():
        worlds = gym.make_vec(ENVIRONMENT, EPISODES, "sync")

    def loop() -> None:
        observations, _ = worlds.reset(seed=0)
        for _ in range(steps):
            observations, _, _, _, _ = worlds.step(policy.predict(observations)[0])

    return loop


def main() -> None:
    """Measure, print, and fail if something that is wanted was missed."""
    policies = clones(FLEET)
    policy = policies[0]
    with quiet_mujoco():
        single = Monitor(gym.make(ENVIRONMENT))
    seconds = fastest(
        lambda: evaluate(policy, ENVIRONMENT, EPISODES),
        lambda: evaluate_fleet(policies, ENVIRONMENT, EPISODES, settings={"max_episode_steps": FLEET_STEPS}),
        sync_loop(policy, SYNC_STEPS),
        lambda: evaluate_policy(policy, single, SINGLE_EPISODES),  # type: ignore[arg-type]
        Bare(play(policy, ENVIRONMENT, episode_seeds(0, EPISODES))),
        turns=TURNS,
    )
    steps = EPISODES * np.array([STEPS, FLEET * FLEET_STEPS, SYNC_STEPS, SINGLE_EPISODES * STEPS / EPISODES, STEPS])
    ours, fleet, sync, stable, bare = (steps / np.array(seconds)).tolist()
    threads = usable_cores()
    rows = [
        Comparison(name, f"{what}, steps a second", f"{one:,.0f} / {other:,.0f}", one / other, (wanted, float("inf")))
        for name, what, one, other, wanted in (
            ("rollouts_sync", f"evaluating {EPISODES} episodes / gymnasium.make_vec(..., 'sync')", ours, sync, 2.5),
            ("rollouts_sb3", f"evaluating {EPISODES} episodes / SB3's evaluate_policy", ours, stable, 5.0),
            ("rollouts_raw", f"evaluating {EPISODES} episodes / bare mj_step in {threads} threads", ours, bare, 0.8),
            ("rollouts_fleet", f"{FLEET} policies x {EPISODES} episodes / bare mj_step", fleet, bare, 0.8),
        )
    ]
    if not report(
        "make bench, rollouts of a ChoiceNet clone of the HalfCheetah expert", rows, "--json" in sys.argv[1:]
    ):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
