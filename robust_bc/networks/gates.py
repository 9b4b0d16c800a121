"""A gate: weights of the mixtures, and noise of the target, that belong to an episode or to all pairs, not to a state.

Who records badly does so for an episode, and not in some states only. So the weights π_e of an episode e are shared by
its pairs, and so is the noise s_e that the target has in it. Both follow in closed form from the responsibilities r_i
of the mixtures for the pairs seen, with those of older passes fading away (online EM, Cappé and Moulines 2009):

    C_e = Σ_{i in e} r_i,    g = (Σ_e C_e + α·p) / (Σ_e n_e + α),    π_e = (C_e + α·g) / (n_e + α)
    s_e = max(0, v_e − τ⁻¹),    v_e = (Σ_{i in e} r_i1·‖y_i − μ_1‖²/D + β·τ⁻¹) / (C_e1 + β)

g are the weights of all pairs together, which pairs of short or unknown episodes have as well. A gate for all pairs
takes them for one episode.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from robust_bc.networks.mixture import MixtureParameters, component_log_likelihood

TARGET_PRIOR = 0.5
"""p of the target; the others share the rest."""
PRIOR_PAIRS = 10.0
"""α: of so many pairs an episode's own weights count as much as those of all."""
NOISE_PAIRS = 10.0
"""β: the same for its noise."""
FEWEST_PAIRS = 10.0
"""Shorter episodes have the weights of all, and no noise of their own: a bad pair would excuse itself."""


class Gate(nn.Module):
    """Of M members with C mixtures each, the first of which is the target."""

    prior: Tensor  # (M, C, 1), p
    weights: Tensor  # (M, C, 1), g
    counts: Tensor  # (M, E, C)
    squares: Tensor  # (M, E)
    sizes: Tensor  # (M, E), n_e

    def __init__(self, members: int, mixtures: int, *, by_episode: bool, noise: bool) -> None:
        super().__init__()
        self.by_episode = by_episode
        self.noise = noise
        prior = torch.full((members, mixtures, 1), (1 - TARGET_PRIOR) / max(mixtures - 1, 1))
        prior[:, 0] = TARGET_PRIOR if mixtures > 1 else 1.0
        self.register_buffer("prior", prior, persistent=False)
        self.register_buffer("weights", prior.clone())
        self.prepare(torch.ones(members, 1))

    def prepare(self, sizes: Tensor) -> None:
        """Training is about to begin with episodes of so many pairs, (M, E); 0 where a member has fewer episodes."""
        shape = (*sizes.shape, self.prior.shape[1])
        for name, start in (("sizes", sizes), ("counts", sizes.new_zeros(shape)), ("squares", torch.zeros_like(sizes))):
            self.register_buffer(name, start, persistent=False)

    def forward(self, parameters: MixtureParameters, episodes: Tensor | None) -> MixtureParameters:
        """The mixture with the weights and the target's noise of these episodes (M, B); of none known, those of all."""
        batch = parameters.means.shape[3]
        if episodes is None:
            return dataclasses.replace(parameters, log_weights=self.weights.log().expand(-1, -1, batch))
        own = (self.sizes >= FEWEST_PAIRS).gather(1, episodes)[:, None]  # (M, 1, B)
        mine = self.counts.gather(1, episodes.unsqueeze(2).expand(-1, -1, self.counts.shape[2])).mT * own  # (M, C, B)
        log_weights = ((mine + PRIOR_PAIRS * self.weights) / (mine.sum(1, keepdim=True) + PRIOR_PAIRS)).log()
        if not self.noise:
            return dataclasses.replace(parameters, log_weights=log_weights)
        least = parameters.variances[:, :1]  # τ⁻¹, (M, 1, D, B)
        squares = (self.squares.gather(1, episodes)[:, None] * own)[:, None]  # (M, 1, 1, B)
        learned = (squares + NOISE_PAIRS * least) / (mine[:, :1, None] + NOISE_PAIRS)
        variances = torch.cat((torch.maximum(learned, least), parameters.variances[:, 1:]), 1)
        return dataclasses.replace(parameters, log_weights=log_weights, variances=variances)

    @torch.no_grad()
    def update(self, parameters: MixtureParameters, actions: Tensor, episodes: Tensor) -> None:
        """After a step with this mixture for actions (M, D, B) of episodes (M, B)."""
        joint = parameters.log_weights + component_log_likelihood(parameters, actions)
        owned = torch.softmax(joint, 1).mT  # (M, B, C)
        error = parameters.only_live((actions - parameters.means[:, 0]).square()).sum(1) / parameters.live_count()
        seen = torch.zeros_like(self.sizes).scatter_add_(1, episodes, torch.ones_like(error))  # (M, E)
        fading = (1 - 1 / (self.sizes + 1)).pow(seen)
        index = episodes.unsqueeze(2).expand_as(owned)
        self.counts = (self.counts * fading.unsqueeze(2)).scatter_add_(1, index, owned)
        self.squares = (self.squares * fading).scatter_add_(1, episodes, owned[:, :, 0] * error)
        total = self.counts.sum(1).unsqueeze(2)  # (M, C, 1)
        self.weights = (total + PRIOR_PAIRS * self.prior) / (total.sum(1, keepdim=True) + PRIOR_PAIRS)

    def memory(self) -> dict[str, Tensor]:
        """What training needs to go on, beside what is learned by gradient."""
        return {"weights": self.weights, "counts": self.counts, "squares": self.squares}
