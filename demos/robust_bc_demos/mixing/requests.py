"""What to mix, and one sentence for whatever does not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed
from robust_bc_demos.mixing.disturbing import check_disturbance
from robust_bc_demos.mixing.pairs import GRADED, check_mix
from robust_bc_envs.tasks import Task

USUAL_RATE = 0.3
NEED_A_TEACHER = ("noisy", "delayed", "stuck", GRADED)
"""Kinds of corruption that the good teacher executes."""


@dataclass(frozen=True)
class MixRequest:
    """What to mix. Episodes come from teachers of the task, or from the datasets `clean` and `corrupt`."""

    task: Task
    kind: str
    """Of corruption: one of `mixing.KINDS`."""
    rate: float | None = None
    """Share of corrupt pairs; without, 0.3. It has no part in a graded mix."""
    pairs: int | None = 500
    """None keeps whole episodes."""
    seed: int = 0
    episodes: int | None = None
    """Episodes of each teacher; without, those of the task's card. More if that is too few for the pairs."""
    good: str | None = None
    bad: str | None = None
    """Teachers by name or path; without, those of the task's card."""
    clean: str | None = None
    corrupt: str | None = None
    """Datasets to take episodes from instead."""
    disturbance: float | None = None
    """How much the teachers' hands are shaken, as a share of half the action space; without, what the card says."""
    trust_pickle: bool = False
    trust_dataset: str | None = None
    """The dataset `clean`, if its environment may be made as its file says: that can run code."""
    settings: dict[str, Any] | None = None
    """Of the environment."""
    steps: int | None = None
    """At most so many steps of each episode are kept, as by a time limit; without, all."""

    @property
    def share(self) -> float:
        """The rate, given or not."""
        return USUAL_RATE if self.rate is None else self.rate

    @property
    def shaken(self) -> float:
        """By how much the teachers' hands are; episodes of a dataset are as they are."""
        if self.clean is not None:
            return 0.0
        return self.task.disturbance if self.disturbance is None else self.disturbance


def check_request(request: MixRequest) -> None:
    """One sentence for what cannot be mixed; what would be ignored is refused."""
    check_mix(request.kind, request.share, request.pairs)
    check_seed(request.seed)
    for name, value in (("episodes", request.episodes), ("steps", request.steps)):
        if value is not None and value < 1:
            raise RobustBCError(f"{name} must be at least 1, but it is {value}.")
    if request.disturbance is not None:
        check_disturbance(request.disturbance)
    unused = {
        "--rate": request.rate is not None and request.kind == GRADED,
        "--good": request.good is not None and request.clean is not None,
        "--bad": request.bad is not None
        and (request.kind not in ("rollout", "relabel") or request.corrupt is not None),
        "--corrupt": request.corrupt is not None and request.kind != "rollout",
        "--env": bool(request.settings) and request.clean is not None,
        "--disturbance": request.disturbance is not None and request.clean is not None,
    }
    for option, given in unused.items():
        if given:
            raise RobustBCError(f"{option} has no part in this mix (--kind {request.kind}); leave it out.")
    if request.trust_dataset is not None and request.trust_dataset != request.clean:
        raise RobustBCError(f"--trust-dataset names '{request.trust_dataset}', but --clean is '{request.clean}'.")
    if request.corrupt is not None and request.clean is None:
        raise RobustBCError("--corrupt names bad episodes for the good ones of --clean; give both or neither.")
    if request.clean is not None and request.kind in NEED_A_TEACHER:
        raise RobustBCError(f"a good teacher must act for --kind {request.kind}; name one with --good, not --clean.")
