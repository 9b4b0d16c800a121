"""The teachers of robust-bc: experts, adversaries and drivers, collecting from them and mixing what they did."""

from robust_bc.system.exports import public

_EXPORTS = {
    "Delayed": "robust_bc_demos.mixing.faults",
    "KINDS": "robust_bc_demos.mixing.pairs",
    "MixRequest": "robust_bc_demos.mixing.requests",
    "Noisy": "robust_bc_demos.mixing.faults",
    "ScriptedDriver": "robust_bc_demos.drivers",
    "Stuck": "robust_bc_demos.mixing.faults",
    "Teacher": "robust_bc_demos.teachers",
    "collect": "robust_bc_demos.collecting",
    "filter_dataset": "robust_bc_demos.filtering",
    "find_teacher": "robust_bc_demos.teachers",
    "local_datasets": "robust_bc_demos.datasets",
    "mix": "robust_bc_demos.mixing.datasets",
    "teacher_names": "robust_bc_demos.teachers",
    "train_teacher": "robust_bc_demos.training.teaching",
}

__all__ = sorted(_EXPORTS)

__getattr__ = public("robust_bc_demos", _EXPORTS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
