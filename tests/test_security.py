"""Where a name becomes an import, a call or a process: each place stands in docs/security.md with its reason."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_demos.collecting import collect
from robust_bc_demos.mixing.datasets import MixRequest, make_mix
from robust_bc_envs.tasks import find_task
from tests.hostile.sandbox import TRACE_SOURCE

ROOT = Path(__file__).parent.parent
BARE = {"__import__", "eval", "exec", "compile", "import_module", "load_env_creator", "MinariDataset", "load_dataset"}
METHODS = {"load", "load_dataset", "Popen", "import_module", "MinariDataset", "recover_environment"}
"""Calls by their last word, whoever they are called of."""
MODULES = {"importlib", "subprocess", "os", "gym", "gymnasium", "torch", "np", "numpy", "pickle", "minari", "yaml"}
OF_MODULES = {"make", "make_vec", "system", "run", "call", "check_call", "check_output", "load", "loads"}


def calls(path: Path) -> set[str]:
    """The dotted names of all calls that could run what they are given."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            first, _, last = name.rpartition(".")
            if last in METHODS or (last in BARE and not first) or (last in OF_MODULES and first in MODULES):
                found.add(name)
    return found


def test_the_list_in_the_docs_is_complete() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for folder in ("robust_bc", "envs", "demos", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        for name in calls(path)
    }
    rows = [line.replace("\\_", "_").split("|") for line in (ROOT / "docs" / "security.md").read_text().splitlines()]
    told = {(row[1].strip(), row[2].strip(" `")) for row in rows if len(row) == 5 and ".py" in row[1]}
    assert found == told


@pytest.mark.parametrize(
    "line", ["eval(x)", "importlib.import_module(x)", "gym.make(x)", "torch.load(x)", "np.load(x)"]
)
def test_a_new_place_would_be_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(line)
    assert calls(tmp_path / "new.py") == {line.removesuffix("(x)")}


def attacked(datasets: Path, *missing: str, **spec: object) -> Path:
    """A dataset of our own, changed as in the attack that was found."""
    collect("lane-driving", "safe", "our/x-v0", episodes=2, settings={"length": 40, "cars": 0})
    path = datasets / "our/x-v0/data/metadata.json"
    content = json.loads(path.read_text())
    told = {**json.loads(content["env_spec"]), **spec}
    kept = {name: value for name, value in content.items() if name not in missing}
    path.write_text(json.dumps({**kept, "env_spec": json.dumps(told)}))
    return path


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.mark.parametrize(
    "command", ["show our/x-v0", "datasets", "train --dataset our/x-v0 --method mlp --steps 1 --out run"]
)
def test_the_shell_command_of_a_dataset_is_not_run(command: str, datasets: Path, tmp_path: Path) -> None:
    """The attack as it was found: a real process, a real shell command, no space in the metadata."""
    spec = {"entry_point": "os:system", "kwargs": {"command": f"touch {tmp_path / 'owned'}"}}
    attacked(datasets, "observation_space", "action_space", **spec)
    words = [sys.executable, "-m", "robust_bc.cli.main", *command.split()]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "owned").exists()


def test_spaces_that_are_not_told_come_from_the_arrays(datasets: Path) -> None:
    attacked(datasets)
    told = Demonstrations.from_minari("our/x-v0")
    attacked_again = datasets / "our/x-v0/data/metadata.json"
    content = json.loads(attacked_again.read_text())
    attacked_again.write_text(json.dumps({n: v for n, v in content.items() if not n.endswith("_space")}))
    found = Demonstrations.from_minari("our/x-v0")
    assert np.array_equal(found.observations, told.observations)
    assert np.array_equal(found.actions, told.actions)
    assert found.action_space is not None
    assert not np.isfinite(found.action_space.low).any()


REQUEST = {"kind": "rollout", "rate": 0.5, "pairs": 4, "episodes": 1, "clean": "our/x-v0", "bad": "careless"}


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"entry_point": "os:system"}, "the entry_point 'os:system'"),
        ({"vector_entry_point": "os:system"}, "the vector_entry_point 'os:system'"),
        ({"additional_wrappers": [{"name": "x", "entry_point": "os:system"}]}, "the wrapper 'os:system'"),
        ({"kwargs": {"files": ["/etc/passwd"]}}, "the setting files="),
    ],
)
def test_what_a_file_asks_for_needs_a_persons_word(spec: dict[str, object], asked: str, datasets: Path) -> None:
    attacked(datasets, **spec)
    with pytest.raises(RobustBCError, match=rf"asks for {asked}.*; if you trust it, say --trust-dataset our/x-v0"):
        make_mix(MixRequest(find_task("lane-driving"), **REQUEST))  # type: ignore[arg-type]
    with pytest.raises(RobustBCError, match="--trust-dataset names 'other', but --clean is 'our/x-v0'"):
        make_mix(MixRequest(find_task("lane-driving"), trust_dataset="other", **REQUEST))  # type: ignore[arg-type]


def test_a_trusted_dataset_has_its_wrappers(datasets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_wrapper.py").write_text(
        TRACE_SOURCE + "import gymnasium\nclass Same(gymnasium.Wrapper):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    attacked(datasets, additional_wrappers=[{"name": "Same", "entry_point": "their_wrapper:Same", "kwargs": {}}])
    made = make_mix(MixRequest(find_task("lane-driving"), trust_dataset="our/x-v0", **REQUEST))  # type: ignore[arg-type]
    assert (tmp_path / "trace").read_text() == "imported"
    assert len(made.mix.labels) == 4
