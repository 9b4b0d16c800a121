"""Threads follow the size of the work: a small step is not shared.

Threads of one product wait for each other many times a step. Where something else keeps a core busy, each wait takes
as long as its turn, which is far more than a small step takes. So the gain must be worth it; `scripts/bench.py` tells
what two threads bring to a small and to a large step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SHARED_FROM = 1e8
"""Multiplications of a step, forward, from which on threads share them."""


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """One thread for small steps, and as many as there were for others; afterwards all is as before.

    By size and not by load: the number of threads decides about last digits, and the same seed must give the same bits.
    """
    usual = torch.get_num_threads()
    if multiplications < SHARED_FROM:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
