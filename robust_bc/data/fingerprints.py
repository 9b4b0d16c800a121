"""Whether demonstrations are the same, to the bit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from robust_bc.data.demonstrations import Demonstrations


def pairs_digest(demonstrations: Sequence[Demonstrations]) -> str:
    """Tells whether demonstrations are the same, to the bit."""
    digest = hashlib.sha256()
    for pairs in demonstrations:
        for array in (pairs.observations, pairs.actions, pairs.episodes):
            digest.update(str((array.dtype, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
