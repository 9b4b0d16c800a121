"""`robust-bc quickstart`: one table and one page of two tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robust_bc_benchmarks.commands import quickstart
from tests.cli.test_benchmarks import small as small
from tests.cli.test_cli import robust_bc


def test_one_table_and_one_page(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    quickstart.run(["--seeds", "1", "--out", str(out)])
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    expected = ["auto", "choicenet", "mlp", "oracle", "oracle", "oracle", "expert"]
    assert [words[0] for words in lines if len(words) >= 5][1:8] == expected
    assert "oracle of choicenet" in printed
    assert f"report: {out / 'report.html'}" in printed
    page = (out / "report.html").read_text()
    for text in ("halfcheetah, relabel", "lane-driving, rollout", "What they learned", 'class="wide replay"'):
        assert text in page, text
    assert (out / "halfcheetah" / "results.csv").exists()
    assert (out / "driving" / "results.csv").exists()
    quickstart.run(["--seeds", "1", "--out", str(out), "--json"])  # from the finished cells
    content = json.loads(capsys.readouterr().out)
    rows = {(row["method"], row["metric"]): row for row in content["halfcheetah"]["rows"]}
    shown = f"{rows['choicenet', 'return']['mean']:,.0f}".replace("-", "−")
    assert shown in printed


def test_bad_input_is_told(tmp_path: Path) -> None:
    done = robust_bc("quickstart", "--seeds", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "robust-bc: --seeds must be at least 1, but it is 0.\n"
    assert not list(tmp_path.iterdir())
