"""The README's own words, run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_example_does_what_it_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[1.] 1.0"
    assert "-1." in done.stdout.splitlines()[1]
    assert (tmp_path / "runs" / "mine" / "model.safetensors").exists()


def test_every_file_it_names_is_there() -> None:
    root = Path(__file__).parent.parent
    for name in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (root / name).exists(), name


def test_its_commands_exist() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
