"""robust-bc learns control policies from demonstrations of mixed quality."""

from typing import TYPE_CHECKING

from robust_bc.system.exports import public
from robust_bc.version import __version__

if TYPE_CHECKING:
    from robust_bc.auditing.audit import Audit as Audit
    from robust_bc.auditing.audit import load_audit as load_audit
    from robust_bc.auditing.audits import audit as audit
    from robust_bc.data.demonstrations import Demonstrations as Demonstrations
    from robust_bc.errors import RobustBCError as RobustBCError
    from robust_bc.evaluation.evaluating import evaluate as evaluate
    from robust_bc.evaluation.evaluating import evaluate_fleet as evaluate_fleet
    from robust_bc.evaluation.results import Evaluation as Evaluation
    from robust_bc.methods import method_names as method_names
    from robust_bc.policies.files import load_policy as load_policy
    from robust_bc.policies.policy import Policy as Policy
    from robust_bc.training.fitting import fit as fit
    from robust_bc.training.fitting import fit_fleet as fit_fleet
    from robust_bc.training.learners import BCND as BCND
    from robust_bc.training.learners import GPR as GPR
    from robust_bc.training.learners import L1 as L1
    from robust_bc.training.learners import LGPR as LGPR
    from robust_bc.training.learners import MDN as MDN
    from robust_bc.training.learners import MLP as MLP
    from robust_bc.training.learners import RGPR as RGPR
    from robust_bc.training.learners import Auto as Auto
    from robust_bc.training.learners import Background as Background
    from robust_bc.training.learners import ChoiceNet as ChoiceNet
    from robust_bc.training.learners import CoTeaching as CoTeaching
    from robust_bc.training.learners import DensityPower as DensityPower
    from robust_bc.training.learners import Trimmed as Trimmed
    from robust_bc.training.learners import Tukey as Tukey
    from robust_bc.training.learners import TukeyPair as TukeyPair

# Loaded on first use: importing torch takes two seconds, and `robust-bc --help` should not wait for it.
_EXPORTS = {
    **dict.fromkeys(
        (
            "Auto",
            "BCND",
            "Background",
            "ChoiceNet",
            "CoTeaching",
            "DensityPower",
            "GPR",
            "L1",
            "LGPR",
            "MDN",
            "MLP",
            "RGPR",
            "Trimmed",
            "Tukey",
            "TukeyPair",
        ),
        "robust_bc.training.learners",
    ),
    "Audit": "robust_bc.auditing.audit",
    "Demonstrations": "robust_bc.data.demonstrations",
    "Evaluation": "robust_bc.evaluation.results",
    "Policy": "robust_bc.policies.policy",
    "RobustBCError": "robust_bc.errors",
    "audit": "robust_bc.auditing.audits",
    "evaluate": "robust_bc.evaluation.evaluating",
    "evaluate_fleet": "robust_bc.evaluation.evaluating",
    "fit": "robust_bc.training.fitting",
    "fit_fleet": "robust_bc.training.fitting",
    "load_audit": "robust_bc.auditing.audit",
    "load_policy": "robust_bc.policies.files",
    "method_names": "robust_bc.methods",
}

__all__ = [*sorted(_EXPORTS), "__version__"]


__getattr__ = public("robust_bc", _EXPORTS, ("__version__",))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
