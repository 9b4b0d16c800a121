"""A window on the screen that shows frames at a steady pace."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError

# pygame greets on standard output when it is imported.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="pkg_resources is deprecated")
    import pygame

UNSEEN_DRIVERS = ("offscreen", "dummy")
"""Video drivers with no screen: good if somebody asked for one, but not instead of a screen."""


class Window:
    """The one window that pygame can have; keys that are pressed in it stay in pygame's queue for others."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.closed = False
        """Whether the person has closed it, or `close` has."""
        self._started_display = not pygame.display.get_init()
        asked = os.environ.get("SDL_VIDEODRIVER")
        try:
            # SDL would look for a screen anyway and complain on standard error.
            if sys.platform == "linux" and not (
                asked or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
            ):
                raise pygame.error("there is no display")
            pygame.display.init()
            if pygame.display.get_driver() in UNSEEN_DRIVERS and not asked:
                raise pygame.error("the display does not answer")
            pygame.display.set_mode((width, height))
        except pygame.error as error:
            self.close()
            raise RobustBCError(
                f"no window can be opened here ({error}); use a computer with a screen, set DISPLAY, "
                "or, for pictures alone, take render_mode='rgb_array'."
            ) from None
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()

    def show(self, frame: NDArray[np.uint8], fps: float) -> None:
        """Put a frame (H, W, 3) on the screen and wait until it is time for the next."""
        screen = pygame.display.get_surface() if pygame.display.get_init() else None
        if screen is None:  # somebody else has ended pygame's display
            self.closed = True
        if self.closed or screen is None:
            return
        height, width, _ = frame.shape
        screen.blit(pygame.image.frombuffer(frame.tobytes(), (width, height), "RGB"), (0, 0))
        pygame.display.flip()
        pygame.event.pump()
        if pygame.event.get(pygame.QUIT):
            self.closed = True
        self._clock.tick(fps)

    def close(self) -> None:
        """End what this window has started."""
        self.closed = True
        if self._started_display:
            pygame.display.quit()
            self._started_display = False
