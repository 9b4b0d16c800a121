"""`robust-bc quickstart`: one table and one page of two tasks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from robust_bc_benchmarks.commands import driving, mujoco, quickstart
from robust_bc_benchmarks.commands.control import ControlRequest
from tests.cli.test_cli import robust_bc
from tests.robust_bc_benchmarks.control.small import TINY


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits and episodes that take a moment."""
    for module in (mujoco, driving):
        whole = module.request

        def cut(given: object, command: str, whole: object = whole) -> ControlRequest:
            request: ControlRequest = whole(given, command)  # type: ignore[operator]
            plan = dataclasses.replace(
                request.plan, episodes=2, pairs=50, method_settings=dict.fromkeys(request.plan.methods, TINY)
            )
            return dataclasses.replace(request, plan=plan)

        monkeypatch.setattr(module, "request", cut)


def test_one_table_and_one_page(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    quickstart.run(["--seeds", "1", "--out", str(out)])
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert [words[0] for words in lines if len(words) >= 5][1:6] == ["choicenet", "mdn", "mlp", "oracle", "expert"]
    assert f"report: {out / 'report.html'}" in printed
    page = (out / "report.html").read_text()
    for text in ("halfcheetah, relabel", "lane-driving, rollout", "What they learned", 'class="wide replay"'):
        assert text in page, text
    assert (out / "halfcheetah" / "benchmark.json").exists()
    assert (out / "driving" / "benchmark.json").exists()
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
