"""`tukey`: Tukey's biweight of MAD-scaled residuals, the paper's "robust loss" (Belagiannis et al. 2015).

    min_f  mean_i Σ_d ρ_c(u_id),     u_id = (y_id − f_d(x_i)) / (1.4826·MAD_d),     c = 4.6851
    ρ_c(u) = c²/6·(1 − (1 − (u/c)²)³)  where |u| ≤ c,   c²/6  beyond

MAD_d is the median absolute deviation of dimension d's residuals over the batch, and a constant to the gradient. A
residual beyond c deviations of the typical one has no gradient: it is discarded. MAD is large at first, so that nothing
is; as the fit improves it shrinks, and the limit with it: a graduated non-convexity of its own.

Each dimension of an action is judged by itself, as the authors do with the coordinates of a pose, and as the paper
compares it. For demonstrations the pair would be the better unit: a bad one is bad as a whole, yet in any single
dimension often close enough to count. And c = 4.6851 asks that bad residuals stand nearly five deviations out; bad
actions of the same range as the good ones do so only once the fit is close.

Reference: Belagiannis, Rupprecht, Carneiro & Navab 2015, "Robust optimization for deep regression".
"""

from __future__ import annotations

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import biweight, residual_scale, residuals_of


class Tukey(RegressionMethod[NetworkSettings]):
    """Tukey's biweight, summed over action dimensions."""

    name = "tukey"
    summary = "Tukey's biweight, blind to far residuals; assumes that bad actions are far from good ones and few"
    when = "to compare with the paper's robust loss, never where right actions are rare"
    settings_type = NetworkSettings
    part_names = ("biweight",)

    def loss(
        self, settings: NetworkSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        residuals = residuals_of(parameters, actions)
        error = biweight(residuals / residual_scale(residuals)).sum(1).mean(1)
        return LossTerms(error, {"biweight": error})
