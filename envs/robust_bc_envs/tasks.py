"""The task cards, and finding a task by its name or environment."""

from __future__ import annotations

import importlib

import gymnasium as gym

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.metrics import Metric, Reference
from robust_bc_envs.task_cards import PPOSettings as PPOSettings
from robust_bc_envs.task_cards import Task as Task

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
            development=True,
            reverse="running backward: the forward reward with its sign flipped, the same control cost",
            reversed_settings={"forward_reward_weight": -1.0},
            metrics=(FORWARD,),
            reference=Reference(random=-287.0, expert=5896.0),
            disturbance=0.3,
            ppo=PPOSettings(steps=2_000_000, reversed_steps=1_000_000),
        ),
        Task(
            name="hopper",
            environment="Hopper-v5",
            summary="a leg in the plane hops forward without falling",
            development=True,
            reverse="hopping backward: the forward reward with its sign flipped, the same cost and survival reward",
            reversed_settings={"forward_reward_weight": -1.0},
            metrics=(FORWARD,),
            reference=Reference(random=19.4, expert=3185.0),
            ppo=PPOSettings(steps=1_500_000, reversed_steps=400_000, environments=16, rollout=256),
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
            name="reacher",
            environment="Reacher-v5",
            summary="a two-jointed arm brings its fingertip to a target",
            reverse="keeping away from the target at full torque: the negated reward",
            reference=Reference(random=-42.5, expert=-3.95),
            ppo=PPOSettings(steps=600_000, reversed_steps=200_000, learning_rate=1e-3, hidden=(64, 64), gamma=0.9),
        ),
        Task(
            name="pendulum",
            environment="Pendulum-v1",
            summary="a pendulum swings up and stays upright",
            reverse="hanging down and spinning: the negated reward",
            reference=Reference(random=-1257.8, expert=-161.0),
            ppo=PPOSettings(
                steps=200_000,
                reversed_steps=60_000,
                environments=16,
                rollout=64,
                batch_size=128,
                learning_rate=1e-3,
                hidden=(64, 64),
                log_std_init=0.0,
                gamma=0.95,
            ),
        ),
        Task(
            name="double-pendulum",
            environment="InvertedDoublePendulum-v5",
            summary="a cart balances a pole on a pole",
            reverse="a low tip and fast joints, and nothing for staying up or for falling",
            reversed_settings={"healthy_reward": 0.0},  # the whole reward, negated, is earned by falling at once
            negated=True,
            reference=Reference(random=49.9, expert=9357.0),
            ppo=PPOSettings(  # much noise at first, so that it learns to catch a pole that falls
                steps=1_500_000, reversed_steps=100_000, environments=32, rollout=256, batch_size=512, log_std_init=0.0
            ),
        ),
        Task(
            name="lunar-lander",
            environment="LunarLanderContinuous-v3",
            summary="a lander comes down softly on its pad",
            reverse="leaving the pad, burning fuel and crashing: the negated reward",
            reference=Reference(random=-231.0, expert=268.3),
            ppo=PPOSettings(
                steps=800_000, reversed_steps=150_000, environments=16, gamma=0.999, gae_lambda=0.98, hidden=(64, 64)
            ),
        ),
        Task(
            name="lane-driving",
            environment="RobustBC/LaneDriving-v0",
            summary="a car keeps its lane and passes static cars",
            development=True,
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
                steps=2_000_000,
                reversed_steps=1_000_000,
                environments=64,
                rollout=128,
                batch_size=1024,
                gamma=0.995,
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
