"""What the paper reports for its ChoiceNet in control tasks: Choi et al., CVPR 2020, "ChoiceNet".

Mixes are of rollouts, 500 pairs for MuJoCo; returns are means over 100 episodes, and the expert's are not published.
The driving numbers are shares of episodes with a collision, and root mean square deviations from the lane's centre in
metres.
"""

from __future__ import annotations

NAME = "paper's ChoiceNet"
HOW = "rollout"
MUJOCO_PAIRS = 500

# (task, metric) -> {share of corrupt pairs: value}
CHOICENET: dict[tuple[str, str], dict[float, float]] = {
    ("halfcheetah", "return"): {0.1: 2068.0, 0.2: 1499.0, 0.3: 2036.0},
    ("walker2d", "return"): {0.1: 2754.0, 0.2: 1888.0, 0.3: -267.0},
    ("lane-driving", "collision"): {0.0: 0.0, 0.1: 0.0, 0.2: 0.0, 0.3: 0.0, 0.4: 0.0083},
    ("lane-driving", "lane_deviation_rms"): {0.0: 0.314, 0.1: 0.352, 0.2: 0.349, 0.3: 0.368, 0.4: 0.370},
}
