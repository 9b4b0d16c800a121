"""The wheel, installed into an empty environment: beside anybody's own folders, and without any extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from robust_bc.system.extras import EXTRAS

ROOT = Path(__file__).parent.parent
BARE = f"import sys; sys.modules.update(dict.fromkeys({[name for names in EXTRAS.values() for name in names]}))\n"
"""As if nothing were installed that only an extra brings."""
WORK = """
import numpy as np, robust_bc, robust_bc_demos, robust_bc_envs
generator = np.random.default_rng(0)
states = generator.normal(size=(400, 3))
actions = np.stack([states[:, 0] - states[:, 1] + 0.02 * generator.normal(size=400)], axis=1)
actions[:60] *= -1
demos = robust_bc.Demonstrations.from_arrays(states, actions, np.repeat(np.arange(20), 20))
audit = robust_bc.audit(demos)
print(np.flatnonzero(audit.bad_episodes))
audit.save("audit")
assert robust_bc.load_audit("audit").keep().sum() == 340
policy = robust_bc.fit(demos, method="choicenet", steps=20, clean=True)
policy.save("policy")
again = robust_bc.load_policy("policy")
assert (again.predict(states)[0] == policy.predict(states)[0]).all()
print(len(robust_bc.evaluate(again, "Pendulum-v1", episodes=2).rows))
for wanted in (
    lambda: audit.to_frame(),
    lambda: robust_bc.Demonstrations.from_minari("mine/none-v0"),
    lambda: robust_bc.evaluate(again, "HalfCheetah-v5", episodes=1),
    lambda: robust_bc_demos.collect,
    lambda: robust_bc_demos.train_teacher,
):
    try:
        wanted()
    except ImportError as problem:
        assert isinstance(problem, robust_bc.RobustBCError)
        print(problem)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment that has the wheel; what it depends on comes from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "empty", with_pip=True)
    found = folder / "empty" / "bin" / "python"
    subprocess.run([found, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True, capture_output=True)
    # By a path in a .pth file: the .pth files that lie there, such as that of an editable robust-bc, are not read.
    (site,) = (folder / "empty" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(str(Path(np.__file__).parent.parent))
    return found


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, *words], cwd=folder, env=alone, capture_output=True, text=True, check=False)


def said(python: Path, folder: Path, *words: str) -> str:
    done = run(python, folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_works_beside_a_users_own_envs_folder(python: Path, tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "__init__.py").write_text("whose = 'mine'")
    code = "import envs, robust_bc, robust_bc_envs, robust_bc_demos; print(envs.whose, robust_bc_demos.__file__)"
    whose, where = said(python, tmp_path, "-c", code).split()
    assert whose == "mine"
    assert Path(where).is_relative_to(python.parent.parent)
    told = said(python, tmp_path, "-m", "robust_bc.cli.main", "--help")
    assert all(f"  {command} " in told for command in ("train", "mix", "benchmark audit"))
    shipped = json.loads(said(python, tmp_path, "-m", "robust_bc.cli.main", "teachers", "--json"))
    names = {teacher["name"] for teacher in shipped["teachers"]}
    assert {f"{t}-{r}" for t in ("halfcheetah", "walker2d", "lane-driving") for r in ("expert", "adversary")} <= names


def test_without_any_extra_it_audits_fits_saves_and_evaluates(python: Path, tmp_path: Path) -> None:
    bad, episodes, *missing = said(python, tmp_path, "-c", BARE + WORK).splitlines()
    assert (bad, episodes) == ("[0 1 2]", "2")
    modules = [("pandas", "report"), ("h5py", "minari"), ("mujoco", "mujoco"), ("minari", "minari")]
    modules.append(("stable_baselines3", "teachers"))
    for sentence, (module, extra) in zip(missing, modules, strict=True):
        assert sentence == f"{module} is not installed; pip install 'robust-bc[{extra}]' brings it."


def test_a_command_says_which_extra_it_needs(python: Path, tmp_path: Path) -> None:
    code = BARE + "from robust_bc.cli.main import main; main()"
    words = ["-c", code, "audit", "--dataset", "mine/none-v0", "--out", "audit"]
    done = run(python, tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "robust-bc: h5py is not installed; pip install 'robust-bc[minari]' brings it.\n"
    assert "choicenet" in said(python, tmp_path, "-c", code, "methods")
