"""Choice: which method `auto` took for its demonstrations, and why."""

from __future__ import annotations

from dataclasses import dataclass

from robust_bc.errors import RobustBCError
from robust_bc.methods import AUTO, check_method


@dataclass(frozen=True)
class Choice:
    """A method and a reason."""

    method: str
    """The one that was taken."""
    reason: str = ""
    """A sentence: why this one."""
    audited: str = ""
    """A sentence: what an audit dropped before."""

    def __post_init__(self) -> None:
        if check_method(self.method) == AUTO:
            raise RobustBCError(f"'{AUTO}' cannot have chosen itself.")

    @property
    def lines(self) -> tuple[str, ...]:
        """What it says to a person: what the audit dropped, and what was chosen."""
        return tuple(f"{AUTO}: {said}" for said in (self.audited, self.reason) if said)
