"""Every method as a class: its settings as typed arguments, and `fit`.

    policy = robust_bc.ChoiceNet(hidden=(256, 256), mixtures=5).fit(demos, seed=0)

The same as `robust_bc.fit(demos, method="choicenet", hidden=(256, 256), mixtures=5, seed=0)`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.methods.auto import AutoSettings
from robust_bc.methods.baselines.background import BackgroundSettings
from robust_bc.methods.baselines.bcnd import BCNDSettings
from robust_bc.methods.baselines.co_teaching import CoTeachingSettings
from robust_bc.methods.baselines.density_power import DensityPowerSettings
from robust_bc.methods.baselines.trimmed import TrimmedSettings
from robust_bc.methods.baselines.tukey_pair import TukeyPairSettings
from robust_bc.methods.choicenet import IN_THE_PAPER, ChoiceNetSettings
from robust_bc.methods.gpr import GPRSettings
from robust_bc.methods.lgpr import LGPRSettings
from robust_bc.methods.mdn import MDNSettings
from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.rgpr import RGPRSettings
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import fit
from robust_bc.training.progress import ProgressCallback

if TYPE_CHECKING:
    import torch


class Learner:
    """What all of them can do."""

    method: ClassVar[str]
    """The name in `robust_bc.fit` and on the command line."""

    def fit(
        self,
        demonstrations: Demonstrations,
        *,
        seed: int = 0,
        members: int = 1,
        device: str | torch.device = "auto",
        clean: bool | None = None,
        progress: ProgressCallback | None = None,
    ) -> Policy:
        """Fit a policy, as `robust_bc.fit` does."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return fit(demonstrations, self.method, members, seed, device, progress, clean, **settings)


@dataclass(frozen=True, kw_only=True)
class Auto(AutoSettings, Learner):
    """An audit, and then the method that suits what is left; assumes that most demonstrations are good.

    For a start, and when you do not know which method to take.
    """

    method: ClassVar[str] = "auto"


@dataclass(frozen=True, kw_only=True)
class MLP(NetworkSettings, Learner):
    """Plain behaviour cloning by least squares; assumes that all demonstrations are good.

    For clean demonstrations, and as the line to beat.
    """

    method: ClassVar[str] = "mlp"


@dataclass(frozen=True, kw_only=True)
class MDN(MDNSettings, Learner):
    """Mixture density network; assumes that good actions are the largest mode in every state.

    For demonstrations with several right answers, not against bad ones.
    """

    method: ClassVar[str] = "mdn"


@dataclass(frozen=True, kw_only=True)
class ChoiceNet(ChoiceNetSettings, Learner):
    """Mixtures correlated with one target; assumes that good actions are one function of the state.

    For most piles of single bad actions, when nobody knows how many there are.
    """

    method: ClassVar[str] = "choicenet"

    @classmethod
    def as_in_the_paper(cls, **settings: Any) -> ChoiceNet:
        """With the settings that make it what the paper prints (docs/choicenet.md), and others on top."""
        return cls(**{**IN_THE_PAPER, **settings})


@dataclass(frozen=True, kw_only=True)
class L1(NetworkSettings, Learner):
    """Least absolute error, a median; assumes that most actions shown in a state are good; nothing to tune.

    For outliers at random, up to about 40 %, when nothing may be tuned.
    """

    method: ClassVar[str] = "l1"


@dataclass(frozen=True, kw_only=True)
class Tukey(NetworkSettings, Learner):
    """Tukey's biweight, blind to far residuals; assumes that bad actions are far from good ones and few.

    To compare with the paper's robust loss, never where right actions are rare.
    """

    method: ClassVar[str] = "tukey"


@dataclass(frozen=True, kw_only=True)
class TukeyPair(TukeyPairSettings, Learner):
    """Tukey's biweight, blind to far pairs as a whole; assumes that most pairs are good and agree.

    For actions of many dimensions, where no right action is rare.
    """

    method: ClassVar[str] = "tukey-pair"


@dataclass(frozen=True, kw_only=True)
class Trimmed(TrimmedSettings, Learner):
    """Least squares without the worst-fitted pairs; assumes that you know about how many are bad.

    When the share of bad pairs is known and no right action is rare.
    """

    method: ClassVar[str] = "trimmed"


@dataclass(frozen=True, kw_only=True)
class CoTeaching(CoTeachingSettings, Learner):
    """Two networks teach each other their easy pairs; assumes a known share of bad pairs, learned late.

    When the share of bad pairs is known and no right action is rare, like trimmed.
    """

    method: ClassVar[str] = "co-teaching"


@dataclass(frozen=True, kw_only=True)
class BCND(BCNDSettings, Learner):
    """Networks on parts of the pairs vote on each pair's weight; assumes that good actions are the common ones.

    For regressions with outliers at random; weak in our control tasks.
    """

    method: ClassVar[str] = "bcnd"


@dataclass(frozen=True, kw_only=True)
class DensityPower(DensityPowerSettings, Learner):
    """A Gaussian that ignores what it finds improbable; assumes that good actions are the densest ones.

    For at most some 40 % bad pairs, where no right action is rare.
    """

    method: ClassVar[str] = "density-power"


@dataclass(frozen=True, kw_only=True)
class Background(BackgroundSettings, Learner):
    """A narrow target and a broad background; assumes that bad actions are spread out, unlike good ones.

    For single bad actions, like choicenet; not where 40 % are mirrored or 80 % bad.
    """

    method: ClassVar[str] = "background"


@dataclass(frozen=True, kw_only=True)
class GPR(GPRSettings, Learner):
    """Gaussian-process regression; assumes that bad episodes are noisier than good ones, and a smooth function.

    For whole episodes of a smooth task that an audit has cleaned, from a few dozen pairs on.
    """

    method: ClassVar[str] = "gpr"


@dataclass(frozen=True, kw_only=True)
class LGPR(LGPRSettings, Learner):
    """Leveraged Gaussian process, a weight from -1 to 1 per pair; assumes that most pairs agree.

    For up to a few thousand smooth pairs, few of them bad; rgpr is mostly ahead of it.
    """

    method: ClassVar[str] = "lgpr"


@dataclass(frozen=True, kw_only=True)
class RGPR(RGPRSettings, Learner):
    """Truncated mixture of Gaussian-process experts; assumes that good pairs are the largest smooth group.

    For up to a few thousand pairs of a smooth task, without jumps.
    """

    method: ClassVar[str] = "rgpr"
