"""Walkers and cars: policies learn from mixes of the shipped teachers and are measured in episodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robust_bc.data.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc.evaluation.results import Evaluation
from robust_bc.policies.policy import Policy
from robust_bc.system.progress import Progress
from robust_bc.version import __version__
from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.contenders import EXPERT
from robust_bc_benchmarks.core.plan import CLEAN, GRADED
from robust_bc_benchmarks.core.running import Say
from robust_bc_benchmarks.suites.learning import FORMAT, POLICIES_FOLDER, LearningSuite, Numbers, cell_of, check_rate
from robust_bc_benchmarks.suites.mixes import BEST, Mixes, make_teacher
from robust_bc_demos.mixing.pairs import CHANGED, check_mix
from robust_bc_envs.tasks import find_task

EVALUATION_SEED = 1_000_000
"""Of the episodes that every policy is measured in, apart from the seeds with which teachers make demonstrations."""


@dataclass(frozen=True)
class ControlSuite(LearningSuite):
    """Returns, collisions and deviations against shares of bad pairs."""

    episodes: int = 100
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the environment in which policies are measured."""
    mixes: Mixes = field(default_factory=Mixes, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.mixes.pairs
        counts = {"pairs": pairs, "episodes": self.episodes, "good-episodes": self.mixes.episodes}
        for name, count in counts.items():
            if count is not None and count < 1:
                raise RobustBCError(f"--{name} must be at least 1, but it is {count}.")
        for kind in self.plan.kinds:
            check_mix(kind, 0.0, pairs)
        if pairs is not None:
            check_rate(max(self.plan.rates), pairs, MINIMUM_PAIRS)
        if EVALUATION_SEED in self.plan.seeds:
            raise RobustBCError(f"seed {EVALUATION_SEED} is that of the evaluation's episodes; take another.")

    def units(self) -> list[list[Key]]:
        """The experts come first."""
        experts = [[self.plan.key(task, CLEAN, 0.0, EXPERT, 0)] for task in self.plan.tasks]
        return [*experts, *super().units()]

    @property
    def uneven(self) -> tuple[str, ...]:
        """Whole episodes are as long as they are, so only where actions are changed do the same good ones stay."""
        return tuple(kind for kind in self.plan.kinds if self.mixes.pairs is None and kind not in CHANGED)

    @property
    def variant(self) -> str:
        """Of the road, for example."""
        return "".join(f"-{value}" for value in self.settings.values())

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> Demonstrations:
        """Single pairs, or whole episodes."""
        return self.mixes.mix(task, kind, rate, seed)[0]

    def mark(self, task: str) -> dict[str, Any]:
        """Teachers, and the episodes in which policies are measured."""
        measured = {"episodes": self.episodes, "seed": EVALUATION_SEED, "settings": dict(self.settings)}
        return {"mixes": self.mixes.mark(task), "measured": measured}

    def fingerprint(self, key: Key) -> dict[str, Any]:
        """An expert has no settings."""
        if key.method == EXPERT:
            return {"format": FORMAT, "version": __version__, "mark": self.mark(key.task)}
        return super().fingerprint(key) | ({"best": BEST} if key.kind == GRADED else {})

    def compute(
        self, missing: Sequence[Key], known: Sequence[Cell], out: Path, tell: Progress, say: Say
    ) -> Iterator[list[Cell]]:
        """An expert is measured as it is."""
        if missing[0].method != EXPERT:
            yield from super().compute(missing, known, out, tell, say)
            return
        (key,) = missing
        card = find_task(key.task)
        (numbers,) = self.measure([key], [make_teacher(card, card.good)], tell)
        yield [cell_of(key, numbers)]

    def measure(self, keys: Sequence[Key], policies: Sequence[Any], tell: Progress) -> list[Numbers | str]:
        """In the same episodes for all."""
        names = [f"{key.method} {key.seed}" for key in keys]
        evaluations = evaluate_fleet(
            policies,
            keys[0].task,
            self.episodes,
            EVALUATION_SEED,
            names=names,
            settings=self.settings,
            progress=tell,
        )
        return [numbers_of(evaluation) for evaluation in evaluations]

    def keep(self, key: Key, policy: Policy, out: Path) -> None:
        """The policies of the first seed can be looked at."""
        if key.seed == self.plan.seeds[0]:
            policy.save(self.policy_folder(key, out))

    def policy_folder(self, key: Key, out: Path) -> Path:
        """Where a policy is kept."""
        return out / f"{POLICIES_FOLDER}{self.variant}" / key.folder / str(key.seed)


def numbers_of(evaluation: Evaluation) -> Numbers | str:
    """Means over the episodes, or one sentence if any of them failed."""
    failed = evaluation.failures
    if failed:
        return f"{len(failed)} of {len(evaluation.rows)} episodes failed: {failed[0]['failure']}"
    means = {name: summary.mean for name, summary in evaluation.summary.items()}
    return {**means, "episodes": float(len(evaluation.rows))}
