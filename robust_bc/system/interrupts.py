"""Ctrl-C and SIGTERM: how a command stops on them, and how they wait while something must not be cut in half."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 0.02
"""Seconds until a signal is looked at again that came where it could not be met."""
SAME_REQUEST = 1.0
"""Seconds in which a second signal is the first one again: `make` passes on what the terminal has sent to all."""
IMPORTS = "<frozen importlib"
"""How the files of Python's own import machinery are called."""
HAS_TIMER = hasattr(signal, "setitimer")
"""Windows has none: there a signal does not wait."""


class StopRequest:
    """Whether anybody has asked to stop.

    No `threading.Event`: that has a lock, and a signal that comes while another one is noted would wait for it forever.
    """

    def __init__(self) -> None:
        self._made = False

    def set(self) -> None:
        self._made = True

    def is_set(self) -> bool:
        return self._made


@contextmanager
def interrupts_raised(until_the_end: bool = False) -> Iterator[StopRequest]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt in the block; the request tells whether anybody asked.

    They wait for the end of an import: a module in C that is interrupted while it is made ready tells of something
    else than an interrupt, or goes on. They come again where Python can only print them, such as in a `__del__`. Other
    code in C may still make another error of them, so whoever meets an error looks at the request.

    With `until_the_end`, for a process that ends after the block, both are ignored from then on.
    """
    asked = StopRequest()
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield asked
        return
    last, raised_at = signal.SIGINT.value, -SAME_REQUEST

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last, raised_at
        asked.set()
        last = number
        if HAS_TIMER and _importing(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        elif time.monotonic() - raised_at >= SAME_REQUEST:
            raised_at = time.monotonic()
            raise KeyboardInterrupt

    def again(number: int, frame: FrameType | None) -> None:
        signal.raise_signal(last)  # to whoever listens now

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        nonlocal raised_at
        if not (HAS_TIMER and issubclass(problem.exc_type, KeyboardInterrupt)):
            printed(problem)
            return
        raised_at = -SAME_REQUEST
        signal.setitimer(signal.ITIMER_REAL, AGAIN)

    printed, sys.unraisablehook = sys.unraisablehook, unraisable
    alarmed = signal.signal(signal.SIGALRM, again) if HAS_TIMER else None
    listening = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    before = {number: signal.signal(number, stop) for number in listening}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if until_the_end else handler)
        if HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarmed)
        sys.unraisablehook = printed


def _importing(frame: FrameType | None) -> bool:
    """Whether this is done for an import."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the block is done."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    before = {number: signal.signal(number, lambda *given: waiting.append(given)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for given in waiting:
        signal.raise_signal(given[0])


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turns Ctrl-C and the SIGTERM of a cluster into a request that the block meets where it can.

    In the middle of some training steps, some weights are ahead of others, and no resumed run could go on from there to
    the same bits; in the middle of a drawing, code in C makes another error of a KeyboardInterrupt. A second Ctrl-C
    does not wait.
    """
    asked = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread may handle signals
        return

    asked_at = 0.0

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked_at
        if not asked.is_set():
            asked_at = time.monotonic()
            asked.set()
        elif time.monotonic() - asked_at >= SAME_REQUEST:
            handler = before[signal.Signals(number)]
            if not callable(handler):
                raise KeyboardInterrupt
            handler(number, frame)

    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
