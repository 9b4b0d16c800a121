from __future__ import annotations

from pathlib import Path

import matplotlib.image
import pytest

from robust_bc.report import write_page
from tests.robust_bc.report.browser import PHONE, chromium_path, screenshot
from tests.robust_bc.report.demo import demo_page


def test_screenshots_for_the_docs_show_the_whole_page(tmp_path: Path) -> None:
    demo = write_page(tmp_path / "demo.html", demo_page())
    height, width, _ = matplotlib.image.imread(screenshot(demo, tmp_path / "phone.png", 1000, phone=True)).shape
    assert width == 2 * PHONE
    assert height > 4 * width


def test_a_missing_browser_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(RuntimeError, match=r"need the browser Chromium; install it .*apt-get install chromium"):
        chromium_path()
