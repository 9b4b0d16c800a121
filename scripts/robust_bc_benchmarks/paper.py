"""What the paper reports: Choi et al., CVPR 2020, "ChoiceNet".

Control mixes are of rollouts, 500 pairs for MuJoCo; returns are means over 100 episodes, and the expert's are not
published. The driving numbers are shares of episodes with a collision, and root mean square deviations from the lane's
centre in metres. Of the functions it has a table of `cosexp` alone. Boston: its errors are in 1000 $, and it does not
say how it split the data; its RL is `tukey`, and no method here is its LeakyRL.
"""

from __future__ import annotations

CHOICENET = "paper: ChoiceNet"
MUJOCO_PAIRS = 500

_TENTHS, _FIFTHS = (0.0, 0.1, 0.2, 0.3, 0.4), (0.0, 0.2, 0.4, 0.6, 0.8)

# (task, kind, metric) -> {row's name: {share of bad pairs: number}}
NUMBERS: dict[tuple[str, str, str], dict[str, dict[float, float]]] = {
    ("halfcheetah", "rollout", "return"): {CHOICENET: {0.1: 2068.0, 0.2: 1499.0, 0.3: 2036.0}},
    ("walker2d", "rollout", "return"): {CHOICENET: {0.1: 2754.0, 0.2: 1888.0, 0.3: -267.0}},
    ("lane-driving", "rollout", "collision"): {
        CHOICENET: dict(zip(_TENTHS, (0.0, 0.0, 0.0, 0.0, 0.0083), strict=True))
    },
    ("lane-driving", "rollout", "lane_deviation_rms"): {
        CHOICENET: dict(zip(_TENTHS, (0.314, 0.352, 0.349, 0.368, 0.370), strict=True))
    },
    ("cosexp", "uniform", "rmse"): {
        f"paper: {name}": dict(zip(_FIFTHS, numbers, strict=True))
        for name, numbers in {
            "ChoiceNet": (0.034, 0.022, 0.018, 0.023, 0.084),
            "MLP": (0.039, 0.413, 0.452, 0.636, 0.829),
            "MDN": (0.028, 0.087, 0.565, 0.645, 0.778),
            "GPR": (0.008, 0.280, 0.447, 0.602, 0.779),
            "LGPR": (0.022, 0.206, 0.439, 0.579, 0.777),
            "RGPR": (0.017, 0.013, 1.32, 0.738, 1.52),
        }.items()
    },
    ("boston", "uniform", "rmse"): {
        f"paper: {name}": dict(zip(_TENTHS, numbers, strict=True))
        for name, numbers in {
            "ChoiceNet": (3.29, 3.99, 4.77, 5.94, 6.80),
            "L2": (3.22, 5.97, 7.51, 9.04, 9.88),
            "L1": (3.26, 5.72, 7.16, 8.65, 9.69),
            "RL": (4.28, 6.36, 8.08, 10.54, 10.94),
            "LeakyRL": (3.36, 5.71, 7.08, 8.67, 9.68),
            "MDN": (3.46, 6.5, 8.62, 8.97, 10.44),
        }.items()
    },
}
