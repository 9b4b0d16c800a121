"""Pure losses: a mixture and actions in, a total per member and its named parts out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from robust_bc.networks.mixture import MixtureParameters, log_likelihood


@dataclass(frozen=True, eq=False)
class LossTerms:
    """What is minimised, (M,), and what it is made of. Members never mix: each has its own total."""

    total: Tensor
    parts: dict[str, Tensor]


def squared_errors(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """‖y − μ_1‖² of every pair, (M, B); actions are (M, D, B)."""
    return (actions - parameters.means[:, 0]).square().sum(1)


def squared_error(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """‖y − μ_1‖² averaged over the batch, (M,)."""
    return squared_errors(parameters, actions).mean(1)


def negative_log_likelihood(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """−log Σ_k π_k N(y; μ_k, Σ_k) in live dimensions, averaged over the batch, (M,)."""
    return -log_likelihood(parameters, actions).mean(1)


def correlation_divergence(parameters: MixtureParameters) -> Tensor:
    """KL(softmax(ρ) ‖ π) averaged over the batch, (M,): strong correlations shall have large weights."""
    if parameters.correlations is None:
        raise TypeError("only a mixture with correlations has this divergence")
    log_preferred = torch.log_softmax(parameters.correlations, 1)  # (M, K, B)
    return (log_preferred.exp() * (log_preferred - parameters.log_weights)).sum(1).mean(1)


def regression_loss(parameters: MixtureParameters, actions: Tensor) -> LossTerms:
    """Plain least squares."""
    error = squared_error(parameters, actions)
    return LossTerms(error, {"l2": error})


def mixture_loss(parameters: MixtureParameters, actions: Tensor) -> LossTerms:
    """Maximum likelihood."""
    nll = negative_log_likelihood(parameters, actions)
    return LossTerms(nll, {"nll": nll})


def choicenet_loss(
    parameters: MixtureParameters,
    actions: Tensor,
    *,
    likelihood_weight: float,
    l2_weight: float,
    kl_weight: float,
) -> LossTerms:
    """λ_L2·‖y − μ_1‖² − λ_MDN·log Σ_k π_k N(y; μ_k, Σ_k) + λ_KL·KL(softmax(ρ) ‖ π).

    The paper prints the likelihood with the wrong sign. A part whose weight is zero is not computed.
    """
    nll = negative_log_likelihood(parameters, actions)
    parts = {"nll": nll}
    total = likelihood_weight * nll
    if l2_weight > 0:
        parts["l2"] = squared_error(parameters, actions)
        total = total + l2_weight * parts["l2"]
    if kl_weight > 0:
        parts["kl"] = correlation_divergence(parameters)
        total = total + kl_weight * parts["kl"]
    return LossTerms(total, parts)
