"""What an evaluation gives: one row for each episode, and their summary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from robust_bc.data.json_files import as_typed
from robust_bc.data.recording import Episode
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.metrics import Metric, Reference
from robust_bc.evaluation.statistics import Summary, summarise

Row = dict[str, float | int | str | None]
OWN_COLUMNS = ("episode", "seed", "return", "length")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One policy over many episodes of a task."""

    policy: str
    task: str
    environment: str
    seed: int
    settings: dict[str, Any]
    """Of the environment, beside the task's own."""
    metrics: tuple[Metric, ...]
    reference: Reference | None
    rows: list[Row]
    """One for each episode: episode, seed, return, length, every metric, failure (None, or one sentence)."""
    kept: list[Episode] = field(default_factory=list)
    """The first episodes with observations and actions, as many as were asked for; they are not in the JSON."""

    @cached_property
    def summary(self) -> dict[str, Summary]:
        """Return, length and every metric over the episodes that did not fail."""
        kinds = {"return": "number", "length": "number", **{metric.name: metric.kind for metric in self.metrics}}
        return {name: summarise(self._values(name), kind) for name, kind in kinds.items()}

    @cached_property
    def share(self) -> Summary | None:
        """Share of the expert's return, where 0 is as good as random actions and 1 as good as the expert."""
        if self.reference is None:
            return None
        return summarise([self.reference.share(value) for value in self._values("return")])

    @property
    def failures(self) -> list[Row]:
        """The rows of episodes that failed."""
        return [row for row in self.rows if row["failure"] is not None]

    def _values(self, name: str) -> list[float]:
        good = (row[name] for row in self.rows if row["failure"] is None)
        return [float(value) for value in good if isinstance(value, float | int)]

    def as_json(self) -> dict[str, Any]:
        """Plain objects; numbers that JSON has no word for are None."""
        share = self.share
        return {
            "policy": self.policy,
            "task": self.task,
            "environment": self.environment,
            "seed": self.seed,
            "settings": self.settings,
            "metrics": [asdict(metric) for metric in self.metrics],
            "reference": None if self.reference is None else asdict(self.reference),
            "episodes": len(self.rows),
            "failures": len(self.failures),
            "summary": {name: _plain(summary) for name, summary in self.summary.items()},
            "share": None if share is None else _plain(share),
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Evaluation:
        """The evaluation again, without its kept episodes; the summary is computed anew."""
        known = {each.name for each in fields(cls)} - {"kept"}
        found = as_typed(cls, {name: content[name] for name in known & content.keys()}, "evaluation")
        columns = {*OWN_COLUMNS, "failure", *(metric.name for metric in found.metrics)}
        if any(not columns <= row.keys() for row in found.rows):
            raise RobustBCError(f"each row of an evaluation tells {', '.join(sorted(columns))}.")
        for metric in found.metrics:
            if metric.kind == "rate" and any(row[metric.name] not in (0, 1, None) for row in found.rows):
                raise RobustBCError(f"the rate '{metric.name}' is 0 or 1 in each row of an evaluation.")
        return found


def _plain(summary: Summary) -> dict[str, float | int | None]:
    return {name: None if math.isnan(value) else value for name, value in asdict(summary).items()}
