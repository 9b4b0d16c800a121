"""What happened during training: the loss and its parts per network, and the held-out score."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class History:
    """Rows in order of steps; every value has one entry per network (the restarts of members, or members)."""

    names: tuple[str, ...]  # "total" and the method's parts
    steps: list[int] = field(default_factory=list)
    values: list[NDArray[np.float32]] = field(default_factory=list)  # each (len(names), M), mean since the last row
    held_out_steps: list[int] = field(default_factory=list)
    held_out: list[NDArray[np.float32]] = field(default_factory=list)  # each (M,)

    def select(self, networks: list[int]) -> History:
        """The same history for some of the networks."""
        return History(
            names=self.names,
            steps=list(self.steps),
            values=[row[:, networks] for row in self.values],
            held_out_steps=list(self.held_out_steps),
            held_out=[row[networks] for row in self.held_out],
        )

    def rows(self) -> list[tuple[int, int, str, float]]:
        """(step, network, name, value), sorted by step; `held_out` is a name like any other."""
        found = [
            (step, network, name, float(row[index, network]))
            for step, row in zip(self.steps, self.values, strict=True)
            for index, name in enumerate(self.names)
            for network in range(row.shape[1])
        ]
        found += [
            (step, network, "held_out", float(value))
            for step, row in zip(self.held_out_steps, self.held_out, strict=True)
            for network, value in enumerate(row)
        ]
        return sorted(row for row in found if np.isfinite(row[3]))

    def to_csv(self) -> str:
        """The rows as CSV text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("step", "network", "name", "value"))
        writer.writerows((step, network, name, repr(value)) for step, network, name, value in self.rows())
        return text.getvalue()
