"""What the audit benchmark is asked for: its cells in the order of work, and what each of them depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import robust_bc
from robust_bc.auditing.results import SUSPECT_BELOW
from robust_bc.benchmark.audit_cells import FORMAT
from robust_bc.benchmark.control_cells import CLEAN, Key
from robust_bc.benchmark.control_plan import EVALUATION_SEED
from robust_bc.benchmark.detectors import AUDIT, MLP_HIDDEN, find_detector
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import get_method
from robust_bc.seeding import check_seed

MLP, FILTERED, ORACLE = "mlp", "mlp-filtered", "oracle"
"""Plain MLPs: on all pairs, on those that the audit keeps, and on the clean ones."""
TRAINED = (FILTERED, MLP, ORACLE)
TRAINING: dict[str, Any] = {"hidden": MLP_HIDDEN}
"""Their settings, beside the defaults: the trunk of the control benchmarks."""
ROLLOUTS = 20
"""Episodes in which each of these policies is measured."""


class Mixes(Protocol):
    """Where demonstrations come from."""

    def demonstrations(self, task: str, how: str, rate: float, seed: int) -> Demonstrations:
        """A mix, with its hidden labels; at rate 0 the way is `clean`."""

    def mark(self, task: str) -> dict[str, Any]:
        """What tells these demonstrations from those of other teachers and settings."""


@dataclass(frozen=True)
class AuditPlan:
    """Everything that was asked for, checked."""

    tasks: tuple[str, ...]
    hows: tuple[str, ...]
    rates: tuple[float, ...]
    detectors: tuple[str, ...]
    seeds: tuple[int, ...]
    pairs: int | None = None
    """Single pairs of each mix; None takes whole episodes."""
    episodes: int | None = None
    """Of each teacher; None takes the number of the task's card."""
    train: tuple[float, ...] = ()
    """Rates at which policies are trained on what the audit keeps."""
    rollouts: int = ROLLOUTS

    def __post_init__(self) -> None:
        for name in ("tasks", "hows", "rates", "detectors", "seeds"):
            if not getattr(self, name):
                raise RobustBCError(f"{name} is empty; name at least one.")
        for rate in self.rates:
            if not 0 <= rate < 1:
                raise RobustBCError(f"a rate must be at least 0 and below 1, but it is {rate}.")
        for name in self.detectors:
            find_detector(name)
        for name, least in (("pairs", 2), ("episodes", 1), ("rollouts", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RobustBCError(f"{name} must be at least {least}, but it is {value}.")
        if unknown := [rate for rate in self.train if rate not in self.rates]:
            raise RobustBCError(f"a policy is to be trained at rate {unknown[0]}, which is not among the rates.")
        if self.train and AUDIT not in self.detectors:
            raise RobustBCError(f"policies are trained on what '{AUDIT}' keeps; name it among the detectors.")
        for seed in self.seeds:
            if check_seed(seed) == EVALUATION_SEED:
                raise RobustBCError(f"seed {EVALUATION_SEED} is that of the evaluation's episodes; take another.")

    def key(self, task: str, how: str, rate: float, who: str, seed: int) -> Key:
        """The cell that a table shows there; without corrupt pairs all ways are one."""
        return Key(task, how if rate else CLEAN, float(rate), who, seed)

    def places(self) -> Iterator[tuple[str, str, float]]:
        """Task, way and rate as tables show them; clean data stand once for each task, first."""
        for task in self.tasks:
            if 0 in self.rates:
                yield task, CLEAN, 0.0
            for how in self.hows:
                for rate in (rate for rate in self.rates if rate > 0):
                    yield task, how, rate

    def detections(self) -> list[Key]:
        """One cell per detector and mix; detectors of the same mix stand side by side, and so do seeds of a place."""
        return [
            self.key(*place, detector, seed)
            for place in self.places()
            for seed in self.seeds
            for detector in self.detectors
        ]

    def trainings(self) -> list[list[Key]]:
        """Units: all seeds of a place and of a way to choose pairs, fitted as one fleet."""
        places = [(task, how, rate) for task, how, rate in self.places() if rate in self.train]
        return [[self.key(*place, who, seed) for seed in self.seeds] for place in places for who in TRAINED]

    def detection_fingerprint(self, key: Key, mark: Mapping[str, Any]) -> dict[str, Any]:
        """All that a detector's cell depends on."""
        detector = find_detector(key.method)
        about = {"detector": key.method, "settings": dict(detector.settings), "revision": detector.revision}
        return self._mix(key, mark) | about

    def training_fingerprint(self, key: Key, mark: Mapping[str, Any]) -> dict[str, Any]:
        """All that the cell of a policy depends on."""
        judged = {}
        if key.method == FILTERED:
            audit = self.key(key.task, key.how, key.rate, AUDIT, key.seed)
            judged = {"audit": self.detection_fingerprint(audit, mark), "suspect_below": SUSPECT_BELOW}
        settings = asdict(get_method(MLP).settings(TRAINING))
        measured = {"rollouts": self.rollouts, "evaluation_seed": EVALUATION_SEED}
        return self._mix(key, mark) | {"learns_from": key.method, "method_settings": settings} | measured | judged

    def _mix(self, key: Key, mark: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": robust_bc.__version__,
            "task": key.task,
            "how": key.how,
            "rate": key.rate,
            "seed": key.seed,
            "pairs": self.pairs,
            "episodes": self.episodes,
            "demonstrations": dict(mark),
        }
