"""Headless Chromium for pages from disk: tests drive it, and the docs take their screenshots with it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

# As root there is no sandbox to be had, and without the others Chromium calls home at every start.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = 375


def chromium_path() -> str:
    """Where Chromium is; a missing one is installed, if we may do that."""
    # Two workers of one test run would install it at the same time: the second waits, and then finds it.
    with (Path(tempfile.gettempdir()) / "robust-bc-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _found()
        if found is None and shutil.which("apt-get") and os.getuid() == 0:
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            wait = ["-o", "DPkg::Lock::Timeout=300"]
            for command in (
                ["dpkg", "--configure", "-a"],  # what an interrupted run of the tests left half-installed
                ["apt-get", *wait, "-qq", "update"],
                ["apt-get", *wait, "-qq", "-y", "--no-install-recommends", "install", "chromium", "fonts-inter"],
            ):
                subprocess.run(command, env=environment, capture_output=True, timeout=900, check=False)
            found = _found()
    if found is None:
        raise RuntimeError(
            "the tests of the report need the browser Chromium; install it (on Debian: apt-get install chromium)."
        )
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that nobody sees."""
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def screenshot(html_path: Path, png_path: Path, width: int, dark: bool = False, phone: bool = False) -> Path:
    """The whole page as PNG; a phone has its own width and a sharper screen."""
    with chromium() as browser:
        page = browser.new_page(
            viewport={"width": PHONE if phone else width, "height": 812 if phone else 900},
            device_scale_factor=2,
            is_mobile=phone,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page.goto(html_path.resolve().as_uri())
        page.screenshot(path=png_path, full_page=True)
    return png_path


def _found() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
