"""A fitted policy: observations in, actions out, for one member or an ensemble."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from safetensors.torch import save

from robust_bc.data.demonstrations import as_numbers
from robust_bc.data.normalisation import Normalisation
from robust_bc.errors import RobustBCError
from robust_bc.networks.mixture import MixtureParameters, sample
from robust_bc.networks.model import Model
from robust_bc.policies.layout import FILES, MODEL, bounds

if TYPE_CHECKING:
    from robust_bc.methods.base import Method
    from robust_bc.methods.settings import Settings
    from robust_bc.networks.history import History
    from robust_bc.policies.choice import Choice
    from robust_bc.policies.cleaning import Cleaning

Array = NDArray[np.float64]

LARGEST_PASS = 2**16
"""Rows times members of one forward pass."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """What every member believes about the action at each observation, in the units of the actions."""

    weights: Array  # (M, B, K), sum to 1 over K
    means: Array  # (M, B, K, D)
    variances: Array  # (M, B, K, D)
    correlations: Array | None  # (M, B, K): ρ of each mixture with the target; None unless the method has it


class Policy:
    """What `fit` gives and `load_policy` reads; works as it is in Stable-Baselines3's `evaluate_policy`."""

    def __init__(
        self,
        method: Method[Any],
        settings: Settings,
        model: Model,
        normalisation: Normalisation,
        action_space: spaces.Box | None,
        device: torch.device,
        history: History | None = None,
        learned_from: int | None = None,
        cleaning: Cleaning | None = None,
        choice: Choice | None = None,
    ) -> None:
        self.method = method
        self.settings = settings
        self.normalisation = normalisation
        self.action_space = action_space
        self.device = device
        self.history = history
        """How training went; None for a policy that was loaded from a folder, or computed in one go."""
        self.learned_from = learned_from
        """Pairs that it learned from, held-out ones included; None for a policy from a folder without cleaning."""
        self.cleaning = cleaning
        """What an audit left out before and why; None if no cleaning was asked for."""
        self.choice = choice
        """What `auto` chose and why; None if the method was named."""
        self._model = model.to(device).requires_grad_(False).eval()
        self.networks = self._model.members
        """Fitted models whose actions are averaged: several for each member where peers make up one."""
        self.members = self.networks // settings.peers
        self._chooser = self._model.by_row()
        chosen: Any = normalisation.actions.shortest_type if action_space is None else action_space.dtype
        self._action_type = np.dtype(chosen)
        largest = float(np.finfo(chosen).max)
        space = (-np.inf, np.inf) if action_space is None else (action_space.low, action_space.high)
        self._limits = np.maximum(space[0], -largest), np.minimum(space[1], largest)
        self._generator = torch.Generator().manual_seed(0)

    def __repr__(self) -> str:
        cleaned = "" if self.cleaning is None else f", cleaning={self.cleaning.left_out!r}"
        return (
            f"Policy(method={self.method.name!r}, members={self.members},"
            f" observations={self.observation_size}, actions={self.action_size}, device='{self.device}'{cleaned})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: what chooses the actions is made anew from the model, on the host."""
        state = {name: value for name, value in vars(self).items() if name != "_chooser"}
        return {**state, "_generator": self._generator.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._generator = torch.Generator()
        self._generator.set_state(state["_generator"])
        self._chooser = self._model.by_row()

    @property
    def observation_space(self) -> spaces.Box:
        """Vectors of real numbers; which of them can occur is not known."""
        return spaces.Box(-np.inf, np.inf, (self.observation_size,), np.float64)

    @property
    def card(self) -> str:
        """What it is and what it learned from, in a few lines."""
        lines = [
            f"{self.method.name}: {self.method.summary}",
            f"{self.observation_size} observations, {self.action_size} actions, members: {self.members}",
        ]
        if self.choice is not None:
            lines += self.choice.lines
        if self.cleaning is not None:
            lines.append(f"learned from {self.cleaning.kept} of {self.cleaning.pairs} pairs. {self.cleaning.reason}")
        elif self.learned_from is not None:
            lines.append(f"learned from {self.learned_from} pairs; no cleaning was asked for.")
        else:
            lines.append("no cleaning was asked for.")
        return "\n".join(lines)

    @property
    def observation_size(self) -> int:
        return len(self.normalisation.observations.centre)

    @property
    def action_size(self) -> int:
        return len(self.normalisation.actions.centre)

    @property
    def pair_trust(self) -> Array | None:
        """How far each pair was trusted that the policy was fitted to, (N,) in [0, 1]; None where it cannot tell."""
        return self._model.pair_trust

    def reseed(self, seed: int) -> None:
        """Start the random stream of non-deterministic actions anew."""
        self._generator.manual_seed(seed)

    def predict(
        self,
        observation: ArrayLike,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.floating[Any]], tuple[NDArray[Any], ...] | None]:
        """The action for one observation (S,) or for a batch (B, S), and the state as it came.

        Deterministic actions are the mean over members of each member's choice (the target of ChoiceNet, the
        heaviest mixture of an MDN); each is the same to the bit whatever stands beside its observation in the batch.
        Otherwise a member is drawn, then a mixture by its weight, then an action.
        Actions have the type of the action space. Where that is not known they are float32, or float64 if they are so
        large or so small that float32 cannot hold them.
        """
        chosen = [self._choose(part, deterministic) for part in self._parts(self._check(observation))]
        actions = self.normalisation.actions.backward(np.concatenate(chosen, axis=1).T)  # (B, D)
        actions = np.clip(actions, *self._limits).astype(self._action_type)
        return (actions[0] if np.ndim(observation) == 1 else actions), state

    def mixture(self, observations: ArrayLike) -> Mixture:
        """The whole mixture, and ρ where the method has it, at observations (B, S) or at one (S,)."""
        found = [self._mixture(part) for part in self._parts(self._check(observations))]
        correlations = [part.correlations for part in found if part.correlations is not None]
        return Mixture(
            weights=np.concatenate([part.weights for part in found], axis=1),
            means=np.concatenate([part.means for part in found], axis=1),
            variances=np.concatenate([part.variances for part in found], axis=1),
            correlations=np.concatenate(correlations, axis=1) if correlations else None,
        )

    def save(self, folder: str | Path) -> Path:
        """Write `config.json` and `model.safetensors` into the folder.

        Both appear whole; the checksum in the first tells whether the second belongs to it.
        """
        normalisation = self.normalisation
        tensors = {f"{MODEL}{name}": tensor.cpu().contiguous() for name, tensor in self.tensors().items()}
        for name, affine in (("observations", normalisation.observations), ("actions", normalisation.actions)):
            tensors[f"{name}.centre"] = torch.from_numpy(affine.centre)
            tensors[f"{name}.scale"] = torch.from_numpy(affine.scale)
        space = self.action_space
        config: dict[str, Any] = {
            "method": self.method.name,
            "settings": asdict(self.settings),
            "members": self.members,
            "observation_size": self.observation_size,
            "action_size": self.action_size,
            "action_low": None if space is None else bounds(space.low),
            "action_high": None if space is None else bounds(space.high),
            "action_type": None if space is None else str(space.dtype),
        }
        if self.cleaning is not None:
            config["cleaning"] = asdict(self.cleaning)
        if self.choice is not None:
            config["choice"] = asdict(self.choice)
        return FILES.write(Path(folder), config, save(tensors))

    def tensors(self) -> dict[str, torch.Tensor]:
        """The weights by name."""
        return {name: tensor.detach() for name, tensor in self._model.state_dict().items()}

    def _parts(self, batch: NDArray[Any]) -> list[NDArray[Any]]:
        """The batch in parts that bound the memory of a forward pass, whatever the number of members."""
        rows = max(1, LARGEST_PASS // self.networks)
        return [batch[start : start + rows] for start in range(0, max(1, len(batch)), rows)]

    @torch.no_grad()
    def _parameters(self, batch: NDArray[Any]) -> MixtureParameters:
        normalised = torch.from_numpy(self.normalisation.observations.forward(batch).T).to(self.device)
        parameters: MixtureParameters = self._model(normalised.unsqueeze(0))  # (1, S, B) serves all members
        return parameters

    def _choose(self, batch: NDArray[Any], deterministic: bool) -> Array:
        """Normalised actions (D, B) in double precision."""
        if deterministic:
            each = self._chooser(self.normalisation.observations.forward(batch)[None]).astype(np.float64)  # (M, B, D)
            # Added one by one: NumPy's mean may add in another order where there is but one number.
            return np.asarray(functools.reduce(np.add, each) / len(each)).T
        drawn = _double(sample(self._parameters(batch), self._generator))  # (M, D, B)
        member = torch.randint(len(drawn), (len(batch),), generator=self._generator).numpy()
        one: Array = np.take_along_axis(drawn, member[None, None, :], axis=0)[0]
        return one

    def _mixture(self, batch: NDArray[Any]) -> Mixture:
        parameters = self._parameters(batch)
        actions = self.normalisation.actions
        rho = parameters.correlations
        with np.errstate(over="ignore"):
            squared = np.minimum(actions.scale**2, np.finfo(np.float64).max)  # 0 times infinity is no variance
            variances = _double(parameters.variances).transpose(0, 3, 1, 2) * squared
        return Mixture(
            weights=_double(parameters.log_weights.exp()).transpose(0, 2, 1),
            means=actions.backward(_double(parameters.means).transpose(0, 3, 1, 2)),
            variances=variances,
            correlations=None if rho is None else _double(rho).transpose(0, 2, 1),
        )

    def _check(self, observation: ArrayLike) -> NDArray[Any]:
        """A finite batch (B, S)."""
        values = as_numbers(observation, "observation")
        batch = values[None] if values.ndim == 1 else values
        if batch.ndim != 2 or batch.shape[1] != self.observation_size:
            raise RobustBCError(
                f"observation must have the shape ({self.observation_size},) or (B, {self.observation_size}),"
                f" but its shape is {values.shape}."
            )
        if not np.isfinite(batch).all():
            raise RobustBCError("observation must be finite, but it has NaN or infinite entries.")
        return batch


def _double(tensor: torch.Tensor) -> Array:
    """Converted on the host: MPS devices have no float64."""
    return tensor.detach().cpu().numpy().astype(np.float64)
