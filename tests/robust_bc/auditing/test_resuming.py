"""An audit that was interrupted goes on to the same bits; what is damaged or of another audit is computed anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, audit
from robust_bc.auditing import resuming
from robust_bc.auditing.audits import judge
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.resuming import CHECKS_FILE, JUDGED_FILE, Unfinished, audit_in_folder
from robust_bc.auditing.storage import save_audit
from tests.robust_bc.auditing.toys import flipped_episodes

FINDINGS = [Finding("frozen", 3, 1, "action 0 stands still", True), Finding("saturation", None, None, "often", False)]
Calls = dict[str, int]


@pytest.fixture(scope="module")
def pairs() -> Demonstrations:
    found = flipped_episodes(0.25, episodes=8)
    return Demonstrations.from_arrays(found.observations, found.actions, found.episodes)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """How often each part was computed; the second raises while it is told to."""
    counted: Calls = {"checks": 0, "judged": 0, "stop": 0}

    def checks(*_: Any) -> list[Finding]:
        counted["checks"] += 1
        return FINDINGS

    def judged(*given: Any) -> Any:
        if counted["stop"]:
            raise KeyboardInterrupt
        counted["judged"] += 1
        return judge(*given)

    monkeypatch.setattr(resuming, "run_checks", checks)
    monkeypatch.setattr("robust_bc.auditing.audits.run_checks", checks)
    monkeypatch.setattr(resuming, "judge", judged)
    return counted


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_resumed_audit_has_the_same_bits(pairs: Demonstrations, calls: Calls, tmp_path: Path) -> None:
    whole = files(save_audit(audit(pairs, seed=1, dataset="x"), tmp_path / "whole", None))
    calls.update(checks=0, judged=0, stop=1)
    folder = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        audit_in_folder(pairs, folder, seed=1, dataset="x")
    assert sorted(files(folder)) == [CHECKS_FILE]
    calls["stop"] = 0
    for _ in range(2):  # interrupted after the first part, and after the second
        found = audit_in_folder(pairs, folder, seed=1, resume=True, dataset="x")
        assert calls == {"checks": 1, "judged": 1, "stop": 0}
        assert sorted(files(folder)) == [CHECKS_FILE, JUDGED_FILE]
        resumed = files(save_audit(found, tmp_path / "again"))
        # The page tells the folder; all else is the same.
        assert all(resumed[name] == whole[name] for name in ("audit.json", "pairs.safetensors"))
    Unfinished(folder, "").forget()
    assert files(folder) == {}


@pytest.mark.parametrize("change", ["seed", "settings", "pairs", "checks", "judged", "no resume"])
def test_what_is_not_this_audit_is_computed_anew(
    change: str, pairs: Demonstrations, calls: Calls, tmp_path: Path
) -> None:
    audit_in_folder(pairs, tmp_path)
    calls.update(checks=0, judged=0)
    given: dict[str, Any] = {"resume": change != "no resume"}
    if change == "seed":
        given["seed"] = 1
    if change == "settings":
        given["doubt"] = 0.1
    if change == "pairs":
        pairs = pairs.select(np.arange(len(pairs)) < len(pairs) - 1)
    for part, name in (("checks", CHECKS_FILE), ("judged", JUDGED_FILE)):
        if change == part:
            content = bytearray((tmp_path / name).read_bytes())
            content[len(content) // 2] ^= 1
            (tmp_path / name).write_bytes(bytes(content))
    audit_in_folder(pairs, tmp_path, **given)
    assert (calls["checks"], calls["judged"]) == (change != "judged", change != "checks")
