"""Training a teacher with PPO, in chunks after each of which it can be stopped and resumed to the same bits."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecNormalize

from robust_bc.data.tensor_files import Expected, read_sealed_tensors, sealed_tensors
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc.system.files import write_whole
from robust_bc_demos.network_teacher import NetworkTeacher
from robust_bc_demos.training.sb3_worlds import BatchVecEnv
from robust_bc_demos.training.stopping import Enough, StopWhenGoodEnough
from robust_bc_envs.batches import make_batch
from robust_bc_envs.tasks import Task

CHUNKS = 40
"""Episodes are cut off and random streams are renewed between chunks, whether or not a run is resumed there."""
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
STATISTICS = ("mean", "var", "count")
LARGEST_COUNT = 2**62
LARGEST_WEIGHT = 1e4
"""Of a policy, and of the logarithm of its deviation: beyond, no training comes back."""

Report = Callable[[float, str], None]


class TeacherTraining:
    """PPO for one teacher; every chunk depends only on the state before it, so a checkpoint is enough to go on."""

    def __init__(self, task: Task, role: str, seed: int, steps: int | None = None) -> None:
        settings = task.ppo
        self.task, self.role, self.seed = task, role, seed
        self.steps = steps or (settings.reversed_steps if role == "adversary" else settings.steps)
        self.worlds = BatchVecEnv(
            make_batch(
                task,
                settings.environments,
                reversed_reward=role == "adversary",
                autoreset_mode=AutoresetMode.SAME_STEP,
            )
        )
        self.normalised: Any = VecNormalize(self.worlds, gamma=settings.gamma)
        set_random_seed(seed)  # Stable-Baselines3 draws from the global streams only
        self.model: Any = PPO(
            "MlpPolicy",
            self.normalised,
            n_steps=settings.rollout,
            batch_size=settings.batch_size,
            n_epochs=settings.epochs,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            learning_rate=self._learning_rate,
            policy_kwargs={
                "net_arch": list(settings.hidden),
                "activation_fn": torch.nn.ReLU,
                "log_std_init": settings.log_std_init,
            },
            device="cpu",
            verbose=0,
        )
        self.model.set_logger(Logger(folder=None, output_formats=[]))  # its own would leave a folder in /tmp a chunk
        self.chunk = 0

    def _learning_rate(self, _: float) -> float:
        done = self.model.num_timesteps if hasattr(self, "model") else 0
        return self.task.ppo.learning_rate * max(0.0, 1.0 - done / self.steps)

    def run(
        self,
        checkpoint: Path,
        report: Report,
        say: Callable[[str], None] = warnings.warn,
        enough: Enough | None = None,
        by_updates: bool = False,
    ) -> NetworkTeacher:
        """Train to the end, with a checkpoint after every chunk; from the last one, if there is one undamaged.

        With `enough`, training ends with the first chunk after which it says so, and its checkpoint is the one before;
        `by_updates`, with the first update. Without such a chunk or update it has failed.
        """
        if checkpoint.exists():
            try:
                self._restore(checkpoint)
            except DamagedFileError as problem:
                say(f"note: {str(problem).rstrip('.')}; training begins anew.")
        chunk_steps = max(1, self.steps // CHUNKS)
        while self.model.num_timesteps < self.steps:
            # One number for each chunk, the same whether the run was stopped before it or not.
            chunk_seed = int(np.random.SeedSequence(self.seed, spawn_key=(self.chunk,)).generate_state(1)[0] >> 1)
            set_random_seed(chunk_seed)
            self.worlds.next_seed = chunk_seed
            self.model._last_obs = None  # makes `learn` reset the environments
            stop = StopWhenGoodEnough(self.teacher, enough) if enough is not None and by_updates else None
            self.model.learn(chunk_steps, callback=stop, reset_num_timesteps=False, log_interval=None)
            self.chunk += 1
            if stop is not None and stop.teacher is not None:
                self.model.num_timesteps = stop.steps
                return stop.teacher
            if stop is None and enough is not None and enough(self.teacher()):
                return self.teacher()
            write_whole(checkpoint, self._state())
            finished, self.worlds.finished = self.worlds.finished, []
            note = f"return {np.mean(finished):.0f} in training" if finished else ""
            report(min(1.0, self.model.num_timesteps / self.steps), note)
        if enough is not None:
            raise RobustBCError(f"the {self.role} of '{self.task.name}' was not good enough after {self.steps} steps.")
        return self.teacher()

    def teacher(self) -> NetworkTeacher:
        """The mean action of the trained policy, as a network of its own."""
        policy = self.model.policy
        layers = [m for m in policy.mlp_extractor.policy_net if isinstance(m, torch.nn.Linear)] + [policy.action_net]
        statistics = self.normalised.obs_rms
        return NetworkTeacher(
            name=f"{self.task.name}-{self.role}",
            mean=statistics.mean.astype(np.float32),
            scale=np.sqrt(statistics.var + self.normalised.epsilon).astype(np.float32),
            weights=tuple(layer.weight.detach().numpy().T.copy() for layer in layers),
            biases=tuple(layer.bias.detach().numpy().copy() for layer in layers),
            low=np.asarray(self.model.action_space.low, np.float32),
            high=np.asarray(self.model.action_space.high, np.float32),
        )

    def close(self) -> None:
        """Let go of the environments."""
        self.normalised.close()

    def _mark(self) -> str:
        """Tells whether a checkpoint belongs to this task, role, seed and settings."""
        task = self.task
        settings = [dict(task.settings), None if task.reversed_settings is None else dict(task.reversed_settings)]
        settings.append({"negated": task.negated})
        about = [task.environment, settings, self.role, self.seed, self.steps, CHUNKS, asdict(task.ppo)]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    def _state(self) -> bytes:
        arrays = {f"policy.{name}": tensor.numpy() for name, tensor in self.model.policy.state_dict().items()}
        for index, state in self.model.policy.optimizer.state_dict()["state"].items():
            arrays |= {f"adam.{index}.{name}": state[name].numpy() for name in ADAM_STATE}
        for kind, statistics in self._statistics().items():
            arrays |= {f"{kind}.{name}": np.asarray(getattr(statistics, name), np.float64) for name in STATISTICS}
        arrays["mark"] = np.frombuffer(bytes.fromhex(self._mark()), np.uint8)
        arrays["progress"] = np.array([self.chunk, self.model.num_timesteps], np.int64)
        return sealed_tensors(arrays)

    def _restore(self, checkpoint: Path) -> None:
        found = read_sealed_tensors(checkpoint)
        mark = found.take({"mark": Expected((32,), np.uint8)}, others=True)["mark"]
        if mark.tobytes().hex() != self._mark():
            raise RobustBCError(f"'{checkpoint}' was made with another task, seed or settings; remove it.")
        arrays = found.take(self._expected())
        chunk, steps = arrays["progress"].tolist()
        possible = 0 < chunk <= LARGEST_COUNT and 0 < steps <= LARGEST_COUNT
        for name, array in arrays.items():
            if name.endswith((".var", ".exp_avg_sq")):
                possible &= bool((array >= 0).all())
            elif name.endswith((".count", ".step")):
                possible &= bool((array > 0).all())
            elif name.startswith("policy."):
                possible &= bool((np.abs(array) < LARGEST_WEIGHT).all())
        if not possible:
            raise DamagedFileError(f"'{checkpoint}' holds numbers that no training leads to.")
        policy = self.model.policy
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        policy.load_state_dict({n.removeprefix("policy."): t for n, t in tensors.items() if n.startswith("policy.")})
        optimiser: dict[str, Any] = policy.optimizer.state_dict()
        optimiser["state"] = {
            index: {name: tensors[f"adam.{index}.{name}"] for name in ADAM_STATE}
            for index in range(len(list(policy.parameters())))
        }
        policy.optimizer.load_state_dict(optimiser)
        for kind, statistics in self._statistics().items():
            for name in STATISTICS:
                value = arrays[f"{kind}.{name}"]
                setattr(statistics, name, value if value.ndim else float(value))
        self.chunk, self.model.num_timesteps = chunk, steps

    def _statistics(self) -> dict[str, Any]:
        return {"observation": self.normalised.obs_rms, "return": self.normalised.ret_rms}

    def _expected(self) -> dict[str, Expected]:
        """What a checkpoint of this training holds."""
        policy = self.model.policy
        expected = {f"policy.{name}": Expected(tuple(tensor.shape)) for name, tensor in policy.state_dict().items()}
        for index, parameter in enumerate(policy.parameters()):
            expected[f"adam.{index}.step"] = Expected(())
            expected |= {f"adam.{index}.{name}": Expected(tuple(parameter.shape)) for name in ADAM_STATE[1:]}
        for kind, statistics in self._statistics().items():
            expected |= {
                f"{kind}.{name}": Expected(np.shape(getattr(statistics, name)), np.float64) for name in STATISTICS
            }
        return expected | {"mark": Expected((32,), np.uint8), "progress": Expected((2,), np.int64)}
