"""MuJoCo without lines on the console and without MUJOCO_LOG.TXT in the working folder."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

# MuJoCo has one warning handler for the whole process. Whoever is first inside installs ours and whoever is last puts
# the former one back, so that overlapping blocks in several threads neither lose it nor leave it behind.
_lock = threading.Lock()
_inside = 0
_former: Any = None
_heard: list[str] = []


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Keep MuJoCo's warnings in this block off the console and out of MUJOCO_LOG.TXT.

    Notices of deprecation are dropped: they are about the XML files that Gymnasium ships. Any other warning, such as
    that of an unstable simulation, becomes a Python RuntimeWarning when the block ends; errors are exceptions, as ever.
    Other threads are quiet as well while one is in the block.
    """
    global _inside, _former
    if find_spec("mujoco") is None:  # then there is nobody to keep quiet
        yield
        return
    import mujoco

    with _lock:
        if _inside == 0:
            _former = mujoco.get_mju_user_warning()
            # Called from threads of the simulator, where an exception would end the process: append cannot raise.
            mujoco.set_mju_user_warning(_heard.append)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                mujoco.set_mju_user_warning(_former)
            heard = _heard.copy()
            _heard.clear()
    for message in heard:
        if "is deprecated" not in message:
            # Without the time of the simulation Python knows a repeated warning again and shows it once.
            warnings.warn(f"MuJoCo: {message.split(' Time =')[0].strip()}", RuntimeWarning, stacklevel=3)
