"""What a check found: in which episode, at which step, and in plain words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that a check found."""

    check: str
    """The name of the check, such as duplicated-rows."""
    episode: int | None
    """The number of the episode; None if it is about all of them."""
    step: int | None
    """The first step that it is about, counted from 0; None if it is about the whole episode."""
    what: str
    """What was found, in a few words."""
    spoils: bool
    """Whether the episode is bad for this alone; otherwise it is something to look at."""
