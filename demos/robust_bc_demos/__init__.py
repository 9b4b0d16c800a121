"""The teachers of robust-bc: experts, adversaries and drivers, collecting from them and mixing what they did."""

from robust_bc.system.exports import public

_EXPORTS = {
    "Delayed": "robust_bc_demos.faults",
    "KINDS": "robust_bc_demos.mixing",
    "MixRequest": "robust_bc_demos.mix_requests",
    "Noisy": "robust_bc_demos.faults",
    "ScriptedDriver": "robust_bc_demos.drivers",
    "Stuck": "robust_bc_demos.faults",
    "Teacher": "robust_bc_demos.teachers",
    "collect": "robust_bc_demos.collecting",
    "filter_dataset": "robust_bc_demos.filtering",
    "find_teacher": "robust_bc_demos.teachers",
    "local_datasets": "robust_bc_demos.datasets",
    "mix": "robust_bc_demos.mixed_datasets",
    "teacher_names": "robust_bc_demos.teachers",
    "train_teacher": "robust_bc_demos.teaching",
}

__all__ = sorted(_EXPORTS)

__getattr__ = public("robust_bc_demos", _EXPORTS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
