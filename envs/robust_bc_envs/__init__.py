"""The worlds of robust-bc: lane driving, task cards, and what a reversed reward means in each.

Importing it registers `RobustBC/LaneDriving-v0` with Gymnasium.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

from robust_bc.system.exports import public
from robust_bc_envs.names import LANE_DRIVING

if LANE_DRIVING not in registry:
    register(
        id=LANE_DRIVING,
        entry_point="robust_bc_envs.lanes.env:LaneDriving",
        vector_entry_point="robust_bc_envs.lanes.batch:LaneDrivingBatch",
    )

_EXPORTS = {
    "LaneSettings": "robust_bc_envs.lanes.worlds",
    "MujocoBatch": "robust_bc_envs.mujoco_batch",
    "Road": "robust_bc_envs.lanes.roads",
    "CARDS": "robust_bc_envs.tasks",
    "Task": "robust_bc_envs.tasks",
    "features": "robust_bc_envs.lanes.driving",
    "find_task": "robust_bc_envs.tasks",
    "make_batch": "robust_bc_envs.batches",
    "rectangles_overlap": "robust_bc_envs.lanes.driving",
    "step_pose": "robust_bc_envs.lanes.driving",
}

__all__ = ["LANE_DRIVING", *sorted(_EXPORTS)]


__getattr__ = public("robust_bc_envs", _EXPORTS, ("LANE_DRIVING",))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
