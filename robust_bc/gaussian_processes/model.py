"""Fitted Gaussian processes as the model of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess, angles, balanced_factor
from robust_bc.gaussian_processes.kernels import LARGEST_KERNEL, Kernel
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.model import Chooser, Model, Rows


@dataclass(frozen=True, eq=False)
class MemberFit:
    """What one member learned, and from which pairs."""

    rows: NDArray[np.int64]
    process: FittedProcess
    metric: Tensor | None  # (S, S), by which inputs are multiplied; None leaves them as they are


class GaussianProcesses(Model):
    """M processes over the same N inputs, each fitted to all pairs or to some of them.

    Buffers are float32 as those of networks are; what is computed from them is in double precision, on the host. The
    Cholesky factors that variances need are computed at the first call that asks for one.
    """

    inputs: Tensor  # (N, S)
    coefficients: Tensor  # (M, N, D)
    leverages: Tensor  # (M, N)
    precisions: Tensor  # (M, N), 0 for a pair that a member was not fitted to
    trust: Tensor  # (M, N)
    length_scales: Tensor  # (M,)
    signals: Tensor  # (M,), variances of the functions at the centre of the inputs
    noises: Tensor  # (M,), variances of the noise
    metrics: Tensor | None  # (M, S, S), if they were learned

    def __init__(
        self,
        members: int,
        pairs: int,
        observations: int,
        actions: int,
        kernel: type[Kernel],
        tells_trust: bool,
        learned_metrics: bool,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.tells_trust = tells_trust
        self.register_buffer("inputs", torch.zeros(pairs, observations))
        self.register_buffer("coefficients", torch.zeros(members, pairs, actions))
        for name in ("leverages", "precisions", "trust"):
            self.register_buffer(name, torch.zeros(members, pairs))
        for name in ("length_scales", "signals", "noises"):
            self.register_buffer(name, torch.ones(members))
        self.register_buffer("metrics", torch.zeros(members, observations, observations) if learned_metrics else None)
        self._factors: dict[int, Tensor] = {}
        self.register_load_state_dict_post_hook(_forget_factors)  # type: ignore[no-untyped-call]

    @classmethod
    def of(
        cls,
        inputs: NDArray[np.float32],
        fits: Sequence[MemberFit],
        kernel: type[Kernel],
        tells_trust: bool,
    ) -> GaussianProcesses:
        """The model of inputs (N, S) and of what each member learned."""
        metrics = [fit.metric for fit in fits if fit.metric is not None]
        pairs, observations = inputs.shape
        actions = fits[0].process.coefficients.shape[1]
        model = cls(len(fits), pairs, observations, actions, kernel, tells_trust, bool(metrics))
        if model.metrics is not None:
            model.metrics.copy_(torch.stack(metrics))  # one for each member, or it raises
        model.inputs.copy_(torch.from_numpy(np.array(inputs)))
        for member, fit in enumerate(fits):
            index, fitted = torch.from_numpy(fit.rows), fit.process
            for name in ("coefficients", "leverages", "precisions", "trust"):
                getattr(model, name)[member, index] = getattr(fitted, name).float()
            model.length_scales[member] = fitted.length_scale
            model.signals[member] = fitted.variances.signal
            model.noises[member] = fitted.variances.noise
        return model

    @classmethod
    def empty(
        cls,
        members: int,
        observations: int,
        actions: int,
        tensors: Mapping[str, Tensor],
        kernel: type[Kernel],
        tells_trust: bool,
        learned_metrics: bool,
    ) -> GaussianProcesses:
        """A model into which these tensors can be loaded, if they fit together; their number of pairs is theirs."""
        pairs, _ = tensors["inputs"].shape
        if members != len(tensors["length_scales"]):
            raise ValueError("the model has another number of members than the configuration says")
        return cls(members, pairs, observations, actions, kernel, tells_trust, learned_metrics)

    @property
    def members(self) -> int:
        return len(self.length_scales)

    def check_loaded(self) -> None:
        if not (self.length_scales > 0).all():
            raise ValueError("a length scale is not above zero")
        if any((tensor < 0).any() for tensor in (self.signals, self.noises, self.precisions)):
            raise ValueError("a variance or a precision is below zero")

    @property
    def pair_trust(self) -> NDArray[np.float64] | None:
        """One member's (1 + l)/2, or the probability that the expert who acts explains the pair."""
        if not self.tells_trust or self.members > 1:
            return None
        return self.trust[0].cpu().numpy().astype(np.float64)

    @torch.no_grad()
    def forward(self, observations: Tensor, noise: Tensor | None = None, progress: float = 1.0) -> MixtureParameters:
        """One Gaussian: the predictive mean, and the predictive variance of an action with its noise."""
        batches = observations.detach().cpu().mT.double().expand(self.members, -1, -1)  # (M, B, S)
        rows = max(1, LARGEST_KERNEL // max(1, len(self.inputs)))
        found = [[self._predict(member, part) for part in batch.split(rows)] for member, batch in enumerate(batches)]
        means = torch.stack([torch.cat([mean for mean, _ in parts]) for parts in found]).mT  # (M, D, B)
        variances = torch.stack([torch.cat([variance for _, variance in parts]) for parts in found])  # (M, B)
        means, variances = (each.to(observations.device, observations.dtype) for each in (means, variances))
        return MixtureParameters(
            log_weights=torch.zeros_like(variances)[:, None],
            means=means[:, None],
            variances=variances[:, None, None].expand(-1, -1, means.shape[1], -1),
        )

    def by_row(self) -> Chooser:
        maps = [self._row_map(member) for member in range(self.members)]

        def choose(observations: Rows) -> Rows:
            shared = len(observations) == 1
            return np.stack([act(observations[0 if shared else member]) for member, act in enumerate(maps)])

        return choose

    def _row_map(self, member: int) -> Chooser:
        """Observations (B, S) to actions (B, D), with a product for each row as in `RowMap`."""
        coefficients = self.coefficients[member].cpu().numpy().astype(np.float64)
        heard = np.any(coefficients != 0, axis=1)
        coefficients = coefficients[heard]  # (n, D)
        metric = None if self.metrics is None else self.metrics[member].cpu().numpy().astype(np.float64)
        known = self.inputs.cpu().numpy().astype(np.float64)[heard]
        kernel = self._kernel(member).to_known(known if metric is None else known @ metric)
        rows = max(1, LARGEST_KERNEL // max(1, len(coefficients)))

        def act(observations: Rows) -> Rows:
            actions = np.empty((len(observations), coefficients.shape[1]), np.float32)
            for start in range(0, len(observations), rows):
                part = observations[start : start + rows].astype(np.float64)  # (b, S)
                if metric is not None:
                    part = (part[:, None] @ metric)[:, 0]
                actions[start : start + rows] = (kernel(part) @ coefficients)[:, 0]
            return actions

        return act

    def _predict(self, member: int, batch: Tensor) -> tuple[Tensor, Tensor]:
        """Means (B, D) and variances (B,) at observations (B, S)."""
        leverages, precisions = self.leverages[member].cpu().double(), self.precisions[member].cpu().double()
        known, shape = self.inputs.cpu().double(), self._kernel(member)
        if self.metrics is not None:
            metric = self.metrics[member].cpu().double()
            known, batch = known @ metric, batch @ metric
        kernel = shape.between(batch, known)  # (B, N)
        mean = kernel @ self.coefficients[member].cpu().double()
        if member not in self._factors:
            turn = angles(leverages)
            covariance = shape.between(known, known) * torch.cos(turn[:, None] - turn)
            self._factors[member] = balanced_factor(float(self.signals[member]) * covariance, precisions)
        signal = float(self.signals[member])
        weighted = signal * kernel * (angles(leverages).sin() * precisions.sqrt())  # cos(π/2·(1 − l)) = sin(π/2·l)
        explained = torch.linalg.solve_triangular(self._factors[member], weighted.mT, upper=False).square().sum(0)
        return mean, (signal * shape.variances(batch) - explained).clamp_min(0) + float(self.noises[member])

    def _kernel(self, member: int) -> Kernel:
        return self.kernel(float(self.length_scales[member]))


def _forget_factors(model: GaussianProcesses, _: object) -> None:
    """They belonged to what the model held before it was loaded."""
    model._factors.clear()
