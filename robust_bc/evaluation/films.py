"""Pictures to a film: .gif always works, .mp4 where imageio finds ffmpeg."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.system.files import make_folder, write_whole

FASTEST_GIF = 25.0
"""Pictures a second; browsers slow faster ones down."""
KINDS = (".gif", ".mp4")


def check_film(path: Path) -> None:
    """One sentence if a film of that name cannot be written; cheap, to be called before the work."""
    if path.suffix not in KINDS:
        raise RobustBCError(f"'{path}' is no film that can be written; the endings are {' and '.join(KINDS)}.")
    if path.suffix == ".mp4":
        try:
            importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
        except (ImportError, RuntimeError) as problem:
            raise RobustBCError(
                f"'{path}' needs ffmpeg: pip install imageio-ffmpeg, or name a .gif instead."
            ) from problem


def write_film(path: Path, frames: Iterable[NDArray[np.uint8]], frames_per_second: float) -> Path:
    """The film, whole or not at all; a .gif leaves pictures out where there are more than it can show."""
    check_film(path)
    if path.suffix == ".gif":
        _write_gif(path, frames, frames_per_second)
        return path
    make_folder(path.parent)
    aside = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")  # ffmpeg goes by the ending
    try:
        with importlib.import_module("imageio").get_writer(aside, fps=frames_per_second, macro_block_size=2) as film:
            for frame in frames:
                film.append_data(frame)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _write_gif(path: Path, frames: Iterable[NDArray[np.uint8]], frames_per_second: float) -> None:
    from PIL import Image

    every = max(1, -(-int(frames_per_second) // int(FASTEST_GIF)))
    # A picture with a palette takes a third of the memory, and a .gif has no more colours.
    pictures: list[Any] = [
        Image.fromarray(frame).quantize(64) for index, frame in enumerate(frames) if index % every == 0
    ]
    film = io.BytesIO()
    duration = round(1000 * every / frames_per_second)
    pictures[0].save(film, "GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0)
    write_whole(path, film.getvalue())
