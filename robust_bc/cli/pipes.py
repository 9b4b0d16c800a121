"""Output that nobody reads any more: `robust-bc ... | head` is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """What is printed inside goes nowhere once the pipe is closed; what comes after goes on."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
