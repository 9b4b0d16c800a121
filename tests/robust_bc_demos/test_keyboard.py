"""Keys become smooth steering, and a session keeps exactly what the world gave."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import episode_seeds
from robust_bc.system.interrupts import interrupts_held
from robust_bc_demos import keyboard_window
from robust_bc_demos.datasets import Recorded
from robust_bc_demos.keyboard import RETURN_RATE, STEERING_LIMIT, STEERING_RATE, Key, Phase, Session, next_command
from robust_bc_envs.lanes.drawing import RoadView
from robust_bc_envs.lanes.env import LaneDriving
from robust_bc_envs.lanes.worlds import LARGEST_HEADING

LEFT, RIGHT, NOTHING = {"left"}, {"right"}, set[str]()
STEP = 0.05


class Saves(list[list[Recorded]]):
    """What was given to save, each time."""

    def __call__(self, kept: Sequence[Recorded]) -> None:
        self.append(list(kept))


def make_session(wanted: int = 0, seed: int = 3, **settings: Any) -> tuple[Session, Saves]:
    saves = Saves()
    world = LaneDriving(**{"length": 30.0, "cars": 0, **settings})
    return Session(world, "careless", saves, seed=seed, wanted=wanted), saves


def state(session: Session) -> tuple[str, int]:
    """The phase and the steps driven."""
    return str(session.phase), round(session.seconds / STEP)


def drive_to_the_end(session: Session, held: set[str] = NOTHING) -> None:
    session.press("space")
    for _ in range(2000):
        session.advance(held)
        if session.phase is Phase.FINISHED:
            return
    pytest.fail("the episode does not end")


def weave(session: Session) -> None:
    """To the end of the road, with all the keys."""
    session.press("left")
    for step in range(2000):
        session.advance((LEFT, NOTHING, RIGHT, LEFT | RIGHT)[step // 5 % 4])
        if session.phase is Phase.FINISHED:
            return


@pytest.mark.parametrize(
    ("held", "command", "expected"),
    [
        (NOTHING, 0.0, 0.0),
        (LEFT, 0.0, STEERING_RATE * STEP),
        (RIGHT, 0.0, -STEERING_RATE * STEP),
        (LEFT | RIGHT, 0.0, 0.0),
        (LEFT, STEERING_LIMIT, STEERING_LIMIT),
        (RIGHT, -STEERING_LIMIT, -STEERING_LIMIT),
        (NOTHING, 0.3, 0.3 - RETURN_RATE * STEP),
        (NOTHING, -0.3, -0.3 + RETURN_RATE * STEP),
        (LEFT | RIGHT, 0.3, 0.3 - RETURN_RATE * STEP),
        (NOTHING, 0.01, 0.0),  # it comes to rest, it does not swing
        (RIGHT, 0.3, 0.3 - RETURN_RATE * STEP),
        (RIGHT, 0.05, -STEERING_RATE * (STEP - 0.05 / RETURN_RATE)),  # through zero within one step
        (LEFT, -0.05, STEERING_RATE * (STEP - 0.05 / RETURN_RATE)),
    ],
)
def test_a_step_of_steering(held: set[str], command: float, expected: float) -> None:
    assert next_command(held, command, STEP) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("held", [NOTHING, LEFT, RIGHT])
def test_steering_is_smooth_limited_and_does_not_depend_on_the_frame_rate(held: set[str]) -> None:
    for command in np.linspace(-STEERING_LIMIT, STEERING_LIMIT, 41):
        once = next_command(held, command, STEP)
        split = next_command(held, next_command(held, command, 0.3 * STEP), 0.7 * STEP)
        assert split == pytest.approx(once, abs=1e-12)
        assert abs(once) <= STEERING_LIMIT <= LARGEST_HEADING
        assert abs(once - command) <= max(STEERING_RATE, RETURN_RATE) * STEP + 1e-12
        assert next_command(held, command, 60.0) == STEERING_LIMIT * (("left" in held) - ("right" in held))


def test_left_is_left_and_a_lane_change_takes_about_a_second() -> None:
    session, _ = make_session(length=100.0, lanes=9)
    across = session.world.pose[1]
    session.press("left")
    for step in range(40):
        session.advance(LEFT if step < 16 else NOTHING)
        if step == 23:  # 1.2 s
            assert session.command == 0
            assert session.world.pose[1] - across == pytest.approx(3.5, abs=0.5)
    assert session.world.pose[1] - across == pytest.approx(3.5, abs=0.5)  # and the car stays in that lane


def test_a_session_waits_drives_pauses_and_asks() -> None:
    session, saves = make_session()
    session.advance(LEFT)
    others: tuple[Key, ...] = ("enter", "discard", "pause", "restart", "away")
    for key in others:
        session.press(key)
    assert state(session) == ("waiting", 0)  # only an arrow or space starts
    session.press("right")
    for _ in range(10):
        session.advance(RIGHT)
    assert state(session) == ("driving", 10)
    session.press("pause")
    session.advance(RIGHT)
    assert state(session) == ("paused", 10)
    session.press("pause")
    assert state(session) == ("driving", 10)
    session.press("away")
    assert state(session) == ("paused", 10)  # another window has the keys: the car does not drive on unseen
    session.press("restart")
    assert (*state(session), session.command) == ("waiting", 0, 0.0)
    drive_to_the_end(session)
    held: tuple[Key, ...] = ("left", "right", "pause", "away")
    for key in held:
        session.press(key)
    assert state(session)[0] == "finished"  # a key that is still held decides nothing
    session.press("discard")
    assert (*state(session), session.discarded, session.kept, saves) == ("waiting", 0, 1, [], [])
    drive_to_the_end(session)
    session.press("space")
    assert (*state(session), len(session.kept), session.over) == ("waiting", 0, 1, False)
    session.press("end")
    session.advance(NOTHING)
    assert session.over
    assert len(saves) == 1


@pytest.mark.parametrize("settings", [{}, {"shape": "curved", "length": 150.0, "cars": 3}])
def test_a_kept_episode_is_what_the_world_gave_and_gives_again(settings: dict[str, Any]) -> None:
    session, saves = make_session(wanted=2, **settings)
    for _ in range(2):
        weave(session)
        session.press("discard")
        weave(session)
        session.press("enter")
    assert session.over
    assert [len(kept) for kept in saves] == [1, 2]  # each is saved when it is kept
    assert [recorded.episode.seed for recorded in saves[-1]] == episode_seeds(3, 2)
    for recorded in saves[-1]:
        episode = recorded.episode
        assert (recorded.source, recorded.teacher) == ("human", "human-careless")
        world = LaneDriving(**{"length": 30.0, "cars": 0, **settings})
        observation, _ = world.reset(seed=episode.seed)
        assert (observation == episode.observations[0]).all()
        for step, action in enumerate(episode.actions):
            assert world.action_space.contains(action)
            observation, reward, over, _, told = world.step(action)
            assert (observation == episode.observations[step + 1]).all()
            assert reward == episode.rewards[step]
            assert over == (step == len(episode) - 1)
        assert len(episode.observations) == len(episode) + 1
        assert told[recorded.more["outcome"]]
        assert recorded.more["progress_m"] == told["progress_m"]
        assert episode.terminated


def test_an_episode_that_cannot_be_saved_is_not_counted() -> None:
    def full(kept: Sequence[Recorded]) -> None:
        raise RobustBCError("the disk is full.")

    session = Session(LaneDriving(length=30.0, cars=0), "safe", full)
    drive_to_the_end(session)
    with pytest.raises(RobustBCError, match="full"):
        session.press("enter")
    assert session.kept == []


def test_the_person_sees_mode_time_episodes_and_outcome() -> None:
    session, _ = make_session(wanted=4)
    assert session.banner()[0][0] == "Ready?"
    drive_to_the_end(session, LEFT)
    assert session.panel()[:4] == ["Careless driving", f"time {session.seconds:.1f} s", "saved 0 of 4", "discarded 0"]
    assert session.banner()[0][0] == "Off the road"
    assert session.banner()[1] == "bad"
    session.press("enter")
    assert session.panel()[2] == "saved 1 of 4"
    session.press("space")
    assert session.banner()[0] == []
    assert make_session()[0].panel()[2] == "saved 0"
    text = " ".join(session.panel())
    assert all(key in text for key in ("←", "→", "P ", "R ", "Enter", "Backspace", "Esc"))


@pytest.mark.parametrize("shape", ["straight", "curved"])
def test_the_banner_is_on_the_road_and_beside_the_car(shape: str) -> None:
    session, _ = make_session(shape=shape, length=100.0)
    world, view = session.world, RoadView(session.world.worlds.road)
    scene = world.pose, world.cars, np.array(world.path), world.worlds.seen[0]
    bare, with_words = view.draw(*scene), view.draw(*scene, banner=session.banner()[0])
    rows, columns = np.nonzero((bare != with_words).any(-1))
    assert 60 < np.ptp(rows) < 120
    assert 150 < np.ptp(columns) < 500
    if shape == "straight":
        assert columns.min() > 500, "the car and what is just before it stay visible"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_episode_is_kept(number: int) -> None:
    steps: list[str] = []

    def note(*given: object) -> None:
        steps.append("signal")

    before = signal.signal(number, note)
    try:
        with interrupts_held():
            signal.raise_signal(number)
            steps.append("kept")
        assert signal.getsignal(number) is note
    finally:
        signal.signal(number, before)
    assert steps == ["kept", "signal"]


class Drawn:
    """A view that is interrupted while it draws, in code in C that makes another error of it."""

    closed = False

    def __init__(self, number: int) -> None:
        self.number = number
        self.frames = 0

    def draw(self, *given: Any, **more: Any) -> None:
        self.frames += 1
        try:
            signal.raise_signal(self.number)
        except KeyboardInterrupt:
            raise ValueError("not a path") from None

    def show(self, fps: float) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_frame_is_drawn(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    view = Drawn(number)
    monkeypatch.setattr(keyboard_window, "RoadView", lambda *given, **more: view)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            keyboard_window.drive(make_session()[0])
    finally:
        signal.signal(number, before)
    assert (view.frames, view.closed) == (1, True)
