"""The training loop: blocks of steps, looks at held-out pairs, and a state that can be saved at any block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.networks.history import History
from robust_bc.networks.linear import initialise
from robust_bc.system.seeding import MemberSeed
from robust_bc.training.data import FleetData, Odds, draw_block
from robust_bc.training.rounds import make_odds
from robust_bc.training.step import make_optimiser, training_step
from robust_bc.training.threads import threads_for

BLOCK_STEPS = 25
"""Steps whose randomness is drawn together. Part of what a seed means: another value gives other results."""


class Trainer:
    """Trains one fleet; knows neither the mathematics of a method nor any simulator."""

    def __init__(
        self,
        method: NetworkMethod[Any],
        settings: NetworkSettings,
        data: FleetData,
        seeds: Sequence[MemberSeed],
        device: torch.device,
    ) -> None:
        self.method = method
        self.settings = settings
        self.budget = settings.budget
        self.data = data
        self.seeds = list(seeds)
        self.device = device
        sizes = data.observations.shape[1], data.actions.shape[1]
        self.fleet = method.fleet(settings, len(self.seeds), *sizes)
        initialise(self.fleet, self.seeds)
        self.fleet.to(device)
        self.fleet.live = data.live
        self.episodes: Tensor | None = None
        if self.fleet.gate is not None:
            self.episodes, per_episode = data.for_gate(self.fleet.gate.by_episode)
            self.fleet.gate.prepare(per_episode)
        pairs = torch.tensor([len(rows) for rows in data.training], dtype=torch.float32, device=device)  # (M,)
        self.fleet.head.prepare(self.budget.steps * self.budget.batch_size / pairs)
        self.parameters = list(self.fleet.parameters())
        self.optimiser = make_optimiser(self.parameters, settings, device)
        self.step = 0
        self.odds: list[Odds] | None = None  # of the round; None where all are drawn alike
        self.history = History(names=("total", *method.part_names))
        self.best = [parameter.detach().clone() for parameter in self.parameters]
        # Held-out score of the weights that count: the best ones with early stopping, else the latest. (M,)
        self.score = torch.full((len(self.seeds),), torch.inf, device=device)
        self.stale = torch.zeros(len(self.seeds), dtype=torch.int64, device=device)  # evaluations without progress

    @property
    def finished(self) -> bool:
        """All steps done, or every member given up on; the only question here that waits for the device."""
        patience = self.settings.patience if self.settings.early_stopping else 0
        return self.step >= self.budget.steps or bool(patience and (self.stale >= patience).all().item())

    def round_of(self, block: int) -> int:
        """Which round a block belongs to."""
        return block * self.settings.rounds // math.ceil(self.budget.steps / BLOCK_STEPS)

    def run(self, after_block: Callable[[Trainer], None] | None = None) -> None:
        """Train to the end."""
        multiplications = self.budget.batch_size * sum(parameter.numel() for parameter in self.parameters)
        with threads_for(multiplications):
            while not self.finished:
                self.run_block()
                if after_block is not None:
                    after_block(self)

    def run_block(self) -> None:
        """Up to the next multiple of the block length; the host waits for the device once, at its end."""
        settings = self.settings
        count = min(BLOCK_STEPS, self.budget.steps - self.step)
        noise_shape = self.fleet.head.noise_shape(self.budget.batch_size)
        index = self.step // BLOCK_STEPS
        if index and self.round_of(index) != self.round_of(index - 1):
            self.odds = make_odds(self.method, settings, self.fleet, self.data)
        block = draw_block(
            self.data, self.seeds, index, count, self.budget.batch_size, noise_shape, self.device, self.odds
        )
        sums = {name: torch.zeros(len(self.seeds), device=self.device) for name in self.history.names}
        counts = dict.fromkeys(self.history.names, 0)  # a part whose weight has fallen to zero is absent
        looks: list[tuple[int, Tensor]] = []
        for offset in range(count):
            rows = block.rows[offset]  # (M, B)
            terms = training_step(
                self.fleet,
                self.method,
                settings,
                self.optimiser,
                self.data.observations[rows].transpose(1, 2),
                self.data.actions[rows].transpose(1, 2),
                None if block.noise is None else block.noise[offset],
                self.step / self.budget.steps,
                None if self.episodes is None else self.episodes[rows],
            )
            for name, value in {"total": terms.total, **terms.parts}.items():
                sums[name] += value.detach()
                counts[name] += 1
            self.step += 1
            if self.data.held_out is not None and (
                self.step % settings.evaluate_every == 0 or self.step == self.budget.steps
            ):
                looks.append((self.step, self.look()))
        self.history.steps.append(self.step)
        means = [sums[name] / counts[name] if counts[name] else sums[name] * torch.nan for name in sums]
        self.history.values.append(torch.stack(means).cpu().numpy())
        for step, score in looks:
            self.history.held_out_steps.append(step)
            self.history.held_out.append(score.cpu().numpy())

    @torch.no_grad()
    def look(self) -> Tensor:
        """Score the held-out pairs, (M,), and remember the weights of members that have never been better."""
        score = self.held_out_score()
        settings = self.settings
        better = score < self.score
        if settings.early_stopping and settings.patience:
            better &= self.stale < settings.patience
        if not settings.early_stopping:
            better = torch.ones_like(better)  # the last weights count
        self.score = torch.where(better, score, self.score)
        if settings.early_stopping:
            self.stale = torch.where(better, 0, self.stale + 1)
            for best, parameter in zip(self.best, self.parameters, strict=True):
                best.copy_(torch.where(better[:, None, None], parameter, best))
        return score

    @torch.no_grad()
    def held_out_score(self) -> Tensor:
        """Mean score of each member's held-out pairs, (M,)."""
        rows, share = self.data.held_out, self.data.held_out_share
        assert rows is not None
        assert share is not None
        parameters = self.fleet(self.data.observations[rows].transpose(1, 2))
        actions = self.data.actions[rows].transpose(1, 2)
        return (self.method.held_out_score(parameters, actions) * share).sum(1)

    @torch.no_grad()
    def finish(self) -> None:
        """Put the weights in place that count."""
        if self.settings.early_stopping:
            for best, parameter in zip(self.best, self.parameters, strict=True):
                parameter.copy_(best)
        self.fleet.settle()

    def finite_members(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which members have only finite weights, (M,)."""
        finite = torch.stack([p.detach().flatten(1).isfinite().all(1) for p in self.parameters]).all(0)
        return np.asarray(finite.cpu().numpy(), dtype=np.bool_)
