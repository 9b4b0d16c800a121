"""A person who is not there: starts `robust-bc drive` on a virtual screen, presses keys, looks, closes the window."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image, ImageGrab

from tests.virtual_screen import installed, virtual_screen

PATIENCE = 60.0
"""Seconds until something must have happened, on a machine that is busy with other things."""


class Person:
    """Someone in front of a running session."""

    def __init__(self, display: str, process: subprocess.Popen[str]) -> None:
        self.display = display
        self.process = process

    def press(self, *keys: str) -> None:
        """Press and release, one after the other; the X names: Left, Return, BackSpace, Escape ..."""
        self._xdotool("key", "--delay", "60", *keys)

    def hold(self, key: str) -> None:
        self._xdotool("keydown", key)

    def let_go(self, key: str) -> None:
        self._xdotool("keyup", key)

    def title(self) -> str:
        """Of the window, which tells mode, phase and what was saved; empty while there is none."""
        return self._xdotool("getwindowfocus", "getwindowname", check=False)

    def wait_for(self, words: str) -> None:
        """Until the title has these words."""
        self._until(lambda: words in self.title(), f"'{words}' in the title")

    def start(self, key: str = "Right") -> None:
        """Start driving; the first key may come before the window listens, and one too many must decide nothing."""

        def driving() -> bool:
            if "waiting" in self.title():
                self.press(key)
            return "waiting" not in self.title()

        self._until(driving, "the start")

    def look(self) -> Image.Image:
        """The screen as it is."""
        return ImageGrab.grab(xdisplay=self.display)

    def close_window(self) -> None:
        """As the cross in the window's corner does, which needs no window manager: the message WM_DELETE_WINDOW."""
        window = int(self._xdotool("getwindowfocus"))
        code = f"from tests.driving_person import ask_to_close; ask_to_close({self.display!r}, {window})"
        # In another process: Xlib ends the process that makes a mistake.
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=True, timeout=PATIENCE)

    def end(self) -> tuple[int, str, str]:
        """Exit code, standard output and standard error, once the session is over."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def _until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            if self.process.poll() is not None:
                pytest.fail(f"the session ended before {what}: {self.process.communicate()}")
            if time.monotonic() > end:
                pytest.fail(f"no {what} after {PATIENCE} s; the title is '{self.title()}'")
            time.sleep(0.05)

    def _xdotool(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["xdotool", *words],
            env={**os.environ, "DISPLAY": self.display},
            capture_output=True,
            text=True,
            check=check,
            timeout=PATIENCE,
        )
        return done.stdout.strip()


@contextmanager
def driving_person(*arguments: str, datasets: Path) -> Iterator[Person]:
    """`robust-bc drive` with these arguments on a screen of its own; it has its window when the block begins."""
    if installed("xdotool", "xdotool") is None:
        pytest.skip("there is no xdotool here and it cannot be installed (apt-get install xdotool)")
    with virtual_screen() as display:
        process = subprocess.Popen(
            [sys.executable, "-m", "robust_bc.cli.main", "drive", *arguments],
            env={**os.environ, "DISPLAY": display, "MINARI_DATASETS_PATH": str(datasets)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        person = Person(display, process)
        try:
            person.wait_for("waiting, 0 saved")
            yield person
        finally:
            process.kill()
            process.communicate()


class _ClientMessage(ctypes.Structure):
    """XClientMessageEvent, padded to the size of an XEvent."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 24),
    )


def ask_to_close(display: str, window: int) -> None:
    """What a window manager does when the person closes a window."""
    library = ctypes.CDLL("libX11.so.6")
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XInternAtom.restype = ctypes.c_ulong
    screen = ctypes.c_void_p(library.XOpenDisplay(display.encode()))
    protocols, delete = (library.XInternAtom(screen, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW"))
    client_message = 33
    event = _ClientMessage(type=client_message, window=window, message_type=protocols, format=32)
    event.data[0] = delete
    library.XSendEvent(screen, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(event))
    library.XSync(screen, 0)
    library.XCloseDisplay(screen)
