"""The window of a session at the keyboard: reads the keys, keeps real time, and never loses an episode half-way."""

from __future__ import annotations

import numpy as np

from robust_bc.system.interrupts import interrupts_held, stop_requests
from robust_bc_demos.keyboard import TONES, Key, Session
from robust_bc_envs.lanes.drawing import RoadView

# By pygame's names. The road runs to the right on the screen, so up is left for whoever looks at it that way.
KEYS: dict[str, Key] = {
    "left": "left",
    "up": "left",
    "right": "right",
    "down": "right",
    "space": "space",
    "return": "enter",
    "enter": "enter",
    "backspace": "discard",
    "d": "discard",
    "r": "restart",
    "p": "pause",
    "escape": "end",
}


def drive(session: Session) -> None:
    """Open the window and let the person drive until the session is over or the window is closed.

    Ctrl-C and SIGTERM end it after the frame that is being drawn.
    """
    with stop_requests() as stop:
        view = RoadView(session.world.worlds.road, window=True)
        try:
            while not (session.over or view.closed):
                _show(session, view)
                if stop.is_set():
                    raise KeyboardInterrupt
                if not view.closed:
                    _move_on(session)
        finally:
            view.close()


def _show(session: Session, view: RoadView) -> None:
    """One frame, until it is time for the next."""
    world = session.world
    banner, tone = session.banner()
    view.draw(
        *(world.pose, world.cars, np.array(world.path), world.worlds.seen[0]),
        lines=session.panel(),
        tone=TONES[session.mode],
        banner=banner,
        banner_tone=tone,
    )
    _set_title(session)
    view.show(1 / world.settings.dt)


def _move_on(session: Session) -> None:
    """What the keys say, and one step of the world."""
    pressed, held = _read_keys()
    with interrupts_held():  # an episode is kept or not, but never half
        for key in pressed:
            session.press(key)
        session.advance(held)


def _read_keys() -> tuple[list[Key], set[Key]]:
    """Keys that went down since the last frame, and those that are down; a short tap counts as both."""
    import pygame  # after the window, which keeps pygame from greeting

    pressed: list[Key] = []
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            pressed.append("end")
        elif event.type == pygame.WINDOWFOCUSLOST:
            pressed.append("away")
        elif event.type == pygame.KEYDOWN:
            name = pygame.key.name(event.key)
            if name in KEYS:
                pressed.append(KEYS[name])
    down = pygame.key.get_pressed()
    held = {key for name, key in KEYS.items() if key in ("left", "right") and down[pygame.key.key_code(name)]}
    return pressed, held | set(pressed)


def _set_title(session: Session) -> None:
    """The mode, the phase and what was saved, for the list of windows."""
    import pygame

    title = f"lane driving: {session.mode}, {session.phase}, {len(session.kept)} saved"
    if pygame.display.get_init() and pygame.display.get_caption()[0] != title:
        pygame.display.set_caption(title)
