"""What is not installed with the core: one sentence says which extra brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robust_bc.errors import RobustBCError

EXTRAS = {
    "minari": ("minari", "h5py"),
    "mujoco": ("mujoco", "imageio"),
    "box2d": ("Box2D",),
    "teachers": ("stable_baselines3",),
    "drive": ("pygame",),
    "report": ("matplotlib", "pandas", "pyarrow", "tensorboard", "PIL"),
    "benchmark": ("jinja2", "mlxtend", "threadpoolctl"),
}
"""Modules by the extra that brings them."""


class MissingExtraError(RobustBCError, ImportError):
    """Something is not installed; an ImportError, too, for whoever catches these."""


def missing_extra(problem: ImportError) -> MissingExtraError | None:
    """The sentence about a module that is not installed; None if no extra brings it."""
    module = (problem.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingExtraError(
                f"{module} is not installed; pip install 'robust-bc[{extra}]' brings it.", name=problem.name
            )
    return None


@contextmanager
def extras_named() -> Iterator[None]:
    """Around imports: a module that is not installed becomes one sentence."""
    try:
        yield
    except ModuleNotFoundError as problem:
        told = missing_extra(problem)
        if told is None:
            raise
        raise told from None
