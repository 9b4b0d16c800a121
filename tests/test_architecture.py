"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "robust_bc": ROOT / "robust_bc",
    "robust_bc_envs": ROOT / "envs" / "robust_bc_envs",
    "robust_bc_demos": ROOT / "demos" / "robust_bc_demos",
    "robust_bc_benchmarks": ROOT / "scripts" / "robust_bc_benchmarks",
}
"""From the ground up: each may import those before it."""
# Stable-Baselines3 and simulators belong to the other packages.
FOREIGN_TO_CORE = {"stable_baselines3", "mujoco", "pygame"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_dependencies_point_one_way(package: str) -> None:
    above = set(list(PACKAGES)[list(PACKAGES).index(package) + 1 :])
    forbidden = above | (FOREIGN_TO_CORE if package == "robust_bc" else set())
    for path in PACKAGES[package].rglob("*.py"):
        assert not imported(path) & forbidden, path


def modules_named(path: Path, modules: set[str]) -> set[str]:
    """Modules that a file imports, anywhere in it, or names in a string, as a registry does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= parts & modules or {node.module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            names.add(node.value.partition(":")[0])
    return names & modules


@pytest.mark.parametrize("package", PACKAGES)
def test_no_cycle_of_imports(package: str) -> None:
    """Neither of modules nor of the folders in a package, also none hidden in a string or in a function."""
    root = PACKAGES[package]
    paths = {
        ".".join([package, *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in root.rglob("*.py")
    }
    needs = {name: modules_named(path, set(paths)) - {name} for name, path in paths.items()}
    del needs[package]  # it names what is public, and nothing may import it
    assert not [name for name, needed in needs.items() if package in needed]
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError, and names the cycle
    folders: dict[str, set[str]] = {}
    for name, needed in needs.items():
        mine = name.split(".")[1]
        folders.setdefault(mine, set()).update({other.split(".")[1] for other in needed} - {mine})
    graphlib.TopologicalSorter(folders).prepare()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_opens_with_a_sentence(package: str) -> None:
    for path in PACKAGES[package].rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        assert docstring, path
        assert docstring.splitlines()[0].endswith("."), path


def test_nothing_is_unpickled() -> None:
    for package in PACKAGES.values():
        for path in package.rglob("*.py"):
            text = path.read_text()
            assert not imported(path) & {"pickle", "cloudpickle", "joblib", "dill"}, path
            assert "torch.load(" not in text, path
            assert "allow_pickle=True" not in text, path


def test_files_stay_short() -> None:
    for path in [*ROOT.glob("scripts/*.py"), *(p for package in PACKAGES.values() for p in package.rglob("*.py"))]:
        assert len(path.read_text().splitlines()) <= 300, f"{path}: does it hold two things?"


def test_folders_stay_small() -> None:
    for package in PACKAGES.values():
        for folder in {path.parent for path in package.rglob("*.py")}:
            assert len(list(folder.glob("*.py"))) <= 15, f"{folder}: which of its files belong together?"


def test_source_roots_are_no_packages() -> None:
    assert not [folder for folder in ("envs", "demos", "scripts") if (ROOT / folder / "__init__.py").exists()]
    assert all((package / "py.typed").exists() for package in PACKAGES.values())


@pytest.mark.parametrize("statement", ["import robust_bc", "import robust_bc.cli.main", "import robust_bc.cli.train"])
def test_importing_does_not_wait_for_torch(statement: str) -> None:
    code = f"import sys; {statement}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
