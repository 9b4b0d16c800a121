"""`background`: a narrow Gaussian around the policy and a broad one for bad pairs, ChoiceNet without ρ.

    min_f  −mean_i log( π(x_i)·N(y_i; f(x_i), τ⁻¹) + (1 − π(x_i))·N(y_i; 0, σ²) )

The classic contamination model, with weights that depend on the state. It has ChoiceNet's target, its variance τ⁻¹ and
the same annealing of it. It differs from ChoiceNet, at its defaults, in four things:

- no ρ: the rival is centred on 0 instead of being correlated with the target, so that a mirrored action is just any bad
  action; and hence no KL term, which ties the weights to ρ;
- no Σ_0: the rival's variance σ² is fixed, where ChoiceNet's is learned for each state and has weight noise in it;
- one rival instead of K − 1 = 4;
- no λ_L2, by which ChoiceNet's target starts as least squares does.

What ChoiceNet gains over it, it gains by these together. `robust-bc benchmark ablation` changes λ_KL, K and λ_L2 one at
a time.

References: Tukey 1960, "A survey of sampling from contaminated distributions"; Aitkin & Wilson 1980, "Mixture models,
outliers, and the EM algorithm"; Choi et al. 2020 for the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.annealed import AnnealedSettings
from robust_bc.methods.network import NetworkMethod
from robust_bc.networks.background import BackgroundHead
from robust_bc.networks.losses import LossTerms, mixture_loss
from robust_bc.networks.mixture import MixtureParameters, log_likelihood


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings(AnnealedSettings):
    """Settings of the target with a background; those of τ⁻¹ are ChoiceNet's."""

    background_variance: float = 1.0
    """σ², variance of the background in units of the normalised actions: 1 is that of all actions shown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("background_variance")


class Background(NetworkMethod[BackgroundSettings]):
    """Maximum likelihood of target and background; acts by the target."""

    name = "background"
    summary = "a narrow target and a broad background; assumes that bad actions are spread out, unlike good ones"
    when = "for single bad actions, like choicenet; not where 40 % are mirrored or 80 % bad"
    settings_type = BackgroundSettings
    part_names = ("nll",)

    def head(self, settings: BackgroundSettings, members: int, features: int, actions: int) -> BackgroundHead:
        return BackgroundHead(
            members,
            features,
            actions,
            variance=settings.annealed_variance(members),
            background_variance=settings.background_variance,
        )

    def loss(
        self, settings: BackgroundSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return mixture_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return -log_likelihood(parameters, actions)
