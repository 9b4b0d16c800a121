"""The top view shows what is there, needs no display, and its window keeps quiet and stays alive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import robust_bc_envs
from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.drawing import RoadView
from robust_bc_envs.lanes.drawing_canvas import Canvas, colour, text_width, wrapped_text
from robust_bc_envs.lanes.drawing_parts import ACCENT, FAR, NEAR, distance_colour, signed
from robust_bc_envs.lanes.drawing_road import Scene
from robust_bc_envs.lanes.driving import features
from robust_bc_envs.lanes.roads import Array, Road
from tests.virtual_screen import virtual_screen

ROOT = Path(__file__).parent.parent.parent
WHITE = colour("#ffffff")
BLUE = np.round(np.array(ACCENT[:3]) * 255)


def scene_of(road: Road, along: float, offset: float, heading: float = 0.0) -> tuple[Array, Array, Array, Array]:
    """Pose, cars, path and features of a car that came straight along the road."""
    cars = road.place(np.array([along + 20.0, along + 30.0]), np.array([0.0, road.lane_width]))
    pose = road.place(np.array([along]), np.array([offset]), heading)
    behind = np.arange(max(0.0, along - 30), along, 0.5)
    path = np.concatenate([road.place(behind, np.full(len(behind), offset)), pose])[:, :2]
    return pose[0], cars, path, features(road, pose, cars)[0]


def blue_pixels(frame: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Row and column (n, 2) of the pixels in the driven car's colour, without the panels around the road."""
    blue = (np.abs(frame.astype(float) - BLUE) < 3).all(-1)
    blue[:125] = blue[330:] = False
    return np.argwhere(blue)


@pytest.mark.parametrize(
    ("road", "height"),
    [(Road.straight(), 400), (Road.straight(1), 288), (Road.straight(5), 512), (Road.curved(), 640)],
)
def test_frames_are_pictures_and_the_same_input_gives_the_same_bytes(road: Road, height: int) -> None:
    view, scene = RoadView(road), scene_of(road, 50.0, 0.3)
    first = view.draw(*scene)
    assert first.shape == (height, 1200, 3)
    assert first.dtype == np.uint8
    kept = first.copy()
    view.draw(*scene_of(road, 80.0, -0.3), lines=["something else"], tone="bad")
    np.testing.assert_array_equal(first, kept)  # a later frame is written elsewhere
    np.testing.assert_array_equal(view.draw(*scene), kept)
    np.testing.assert_array_equal(RoadView(road).draw(*scene), kept)


@pytest.mark.parametrize("along", [0.0, 50.0, 170.0])
@pytest.mark.parametrize("offset", [-3.6, 0.0, 3.2])
def test_the_car_is_a_third_from_the_left_and_moves_across_the_road(along: float, offset: float) -> None:
    view = RoadView(Road.straight())
    row, column = blue_pixels(view.draw(*scene_of(view.road, along, offset))).mean(0)
    assert column == pytest.approx(400, abs=8)
    assert row == pytest.approx(216 - view.scale * offset, abs=4)  # the road's middle is in row 216


def test_left_is_up_and_mirrored_input_gives_another_picture() -> None:
    road = Road.straight()
    view = RoadView(road)
    pose, cars, path, seen = scene_of(road, 50.0, 0.5, heading=0.2)
    mirrored = pose * [1, -1, -1], cars * [1, -1, -1], path * [1, -1], seen[[2, 1, 0, 3]] * [1, 1, 1, -1]
    left, right = view.draw(pose, cars, path, seen), view.draw(*mirrored)
    assert blue_pixels(left)[:, 0].mean() < 216 < blue_pixels(right)[:, 0].mean()


def test_lane_markings_move_with_the_road() -> None:
    view, nobody = RoadView(Road.straight()), np.zeros((0, 3))
    frames = []
    for along in (80.0, 81.0):
        pose, _, path, seen = scene_of(view.road, along, 0.0)
        frames.append(view.draw(pose, nobody, path, seen))
    dashes = [frame[188, :360].astype(int) for frame in frames]  # between left and middle lane, behind the car
    np.testing.assert_array_equal(dashes[0][16:], dashes[1][:-16])
    assert np.ptp(dashes[0]) > 100


def test_the_camera_follows_a_curved_road_without_a_jump() -> None:
    road = Road.curved()
    view = RoadView(road)
    last: Scene | None = None
    for along in np.arange(0.0, road.length, 0.5):
        scene = view._scene(*scene_of(road, along, 0.3))
        x, y = scene.pixels(along, 0.0)
        assert x == pytest.approx(912 / 3)
        assert 0.25 * view.height < y < 0.75 * view.height
        # The road ahead runs to the right.
        assert abs(road.place(np.array([along]), np.zeros(1))[0, 2] - scene.camera_heading) < np.pi / 3
        if last is not None:
            assert abs(scene.camera_heading - last.camera_heading) < 0.05
            assert abs(y - last.pixels(last.along, 0.0)[1]) < view.scale
        last = scene


def test_every_feature_and_every_line_shows() -> None:
    view = RoadView(Road.straight())
    pose, cars, path, seen = scene_of(view.road, 50.0, 0.5)
    plain = view.draw(pose, cars, path, seen)
    for column in range(4):
        other = seen.copy()
        other[column] -= 0.3
        assert (view.draw(pose, cars, path, other) != plain).any()
    assert (view.draw(pose, cars, path[-1:], seen) != plain).any()
    told = [view.draw(pose, cars, path, seen, ["recording", "time 3 s"], tone) for tone in ("neutral", "good", "bad")]
    changed = np.argwhere((told[0] != plain).any(-1))
    assert changed[:, 0].max() < 125  # the panel stays above the road
    assert changed[:, 1].min() > 600
    assert (told[0] != told[1]).any()
    assert (told[1] != told[2]).any()
    crowded = view.draw(pose, cars, path, seen, ["a rather long line of many words that goes on and on"] * 30)
    changed = np.argwhere((crowded != plain).any(-1))
    assert changed[:, 0].max() < 125
    assert changed[:, 1].min() > 480  # and clear of the numbers


def test_colours_and_numbers() -> None:
    np.testing.assert_allclose(distance_colour(40.0), FAR)
    np.testing.assert_allclose(distance_colour(1.0), NEAR)
    assert [signed(value) for value in (0.5, -0.5, -0.001)] == ["+0.50 m", "−0.50 m", "+0.00 m"]


def test_text_is_as_wide_as_it_says() -> None:
    canvas = Canvas(300, 40)
    canvas.clear(WHITE)
    canvas.text("10 of 200 m", 10, 20, 20, colour("#000000"))
    inked = np.argwhere(canvas.frame().min(-1) < 128)
    assert inked[:, 1].max() - 10 == pytest.approx(text_width("10 of 200 m", 20), abs=3)
    assert (inked[:, 0].min() + inked[:, 0].max()) / 2 == pytest.approx(19.5, abs=1)
    rows = wrapped_text("some words to be wrapped", 100, 15)
    assert " ".join(rows) == "some words to be wrapped"
    assert all(text_width(row, 15) <= 100 for row in rows)


@pytest.mark.parametrize("shape", ["straight", "curved"])
def test_the_environment_renders(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # the checker tries the window too
    env = gym.make(robust_bc_envs.LANE_DRIVING, render_mode="rgb_array", shape=shape)
    env.reset(seed=0)
    first: Any = env.render()
    env.step(np.array([0.1], np.float32))
    second: Any = env.render()
    assert first.shape == second.shape
    assert (first != second).any()
    check_env(env.unwrapped)
    env.close()


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Another process that knows of no display but the one given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DISPLAY", "WAYLAND", "SDL_"))}
    path = os.pathsep.join(str(ROOT / name) for name in (".", "envs"))
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**kept, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


MAKE = """
import gymnasium, robust_bc_envs
env = gymnasium.make("RobustBC/LaneDriving-v0", render_mode={!r})
env.reset(seed=0)
"""


def test_without_a_display_there_are_pictures_but_no_pygame_and_no_words(tmp_path: Path) -> None:
    done = run(MAKE.format("rgb_array") + "env.render()\nimport sys\nassert 'pygame' not in sys.modules", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("display", ["", ":4242"])
def test_a_window_without_a_display_is_one_sentence(display: str, tmp_path: Path) -> None:
    code = (
        "from robust_bc.errors import RobustBCError\ntry:\n    exec({!r})\nexcept RobustBCError as error: print(error)"
    )
    done = run(code.format(MAKE.format("human")), tmp_path, DISPLAY=display)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no window can be opened here")
    assert done.stdout.count("\n") == 1


def test_a_view_without_a_window_cannot_show() -> None:
    view = RoadView(Road.straight())
    assert not view.closed
    with pytest.raises(RobustBCError, match="window=True"):
        view.show(20)
    view.close()


def test_a_window_keeps_the_pace_leaves_keys_alone_and_can_be_closed(tmp_path: Path) -> None:
    code = """
import time
import numpy as np, pygame
begin = time.perf_counter()
for _ in range(10):
    env.step(np.float32([0.0]))
assert time.perf_counter() - begin > 0.4, 'ten frames at 20 a second take half a second'
view = env.unwrapped._view
shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
assert (shown == view._frame).all()
assert not view.closed
pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_LEFT))
pygame.event.post(pygame.event.Event(pygame.QUIT))
env.step(np.float32([0.0]))
assert view.closed
assert [event.key for event in pygame.event.get(pygame.KEYDOWN)] == [pygame.K_LEFT]
env.step(np.float32([0.0]))  # a closed window is no error
env.close()
assert not pygame.display.get_init()
"""
    with virtual_screen() as display:
        done = run(MAKE.format("human") + code, tmp_path, DISPLAY=display)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_closing_ends_only_what_the_view_has_begun(tmp_path: Path) -> None:
    code = """
from robust_bc_envs.lanes.drawing import RoadView
from robust_bc_envs.lanes.roads import Road
from robust_bc_envs.lanes.drawing_window import pygame
pygame.display.init()
view = RoadView(Road.straight(), window=True)
view.close()
view.close()
assert view.closed
view.show(20)
assert pygame.display.get_init()
"""
    done = run(code, tmp_path, SDL_VIDEODRIVER="dummy")
    assert done.returncode == 0, done.stderr
