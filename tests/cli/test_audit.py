"""`robust-bc audit`: what it prints, what it writes, and what never reaches the judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError
from robust_bc.auditing.audits import judging_settings
from robust_bc.auditing.moments import STEPS
from robust_bc.auditing.results import Audit
from robust_bc.auditing.storage import load_audit
from robust_bc.cli.audit import run
from robust_bc.cli.audit_replays import REPLAYED, audit_replay
from robust_bc.data.minari_files import open_minari
from robust_bc.report import Replay
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import DatasetPlan, Recorded, write_dataset
from robust_bc_demos.mixed_datasets import MixRequest, mix, read_episodes
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task
from tests.auditing.audits import audit_of, make_audit
from tests.cli.test_cli import robust_bc
from tests.conftest import make_dataset, make_pairs

DRIVING = find_task("lane-driving")
SHORT = {"length": 60, "cars": 1}
Judge = Callable[[Callable[[Demonstrations], Any]], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """In place of the networks, somebody who knows which pairs are bad; what it was asked is kept."""

    def install(bad: Callable[[Demonstrations], Any]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def audit(demonstrations: Demonstrations, **given: Any) -> Audit:
            assert demonstrations.corrupt is None  # no label ever gets here
            asked.append(given)
            given["progress"](0.5, "half")
            about = {name: given[name] for name in ("sources", "method", "seed")}
            return audit_of(demonstrations, bad(demonstrations), given["dataset"], **about)

        monkeypatch.setitem(
            sys.modules, "robust_bc.auditing.audits", SimpleNamespace(audit=audit, judging_settings=judging_settings)
        )
        return asked

    return install


def two_sources(name: str = "our/two-v0") -> Demonstrations:
    """Three safe episodes and two careless ones."""
    collect("lane-driving", "safe", "our/safe-v0", episodes=3, settings=SHORT)
    collect("lane-driving", "careless", "our/careless-v0", episodes=2, settings=SHORT)
    worlds = make_batch(DRIVING, 1, settings=SHORT)
    plan = DatasetPlan(name, DRIVING, *boxes(worlds), "", "", SHORT)
    worlds.close()
    parts = [("safe", "our/safe-v0"), ("careless", "our/careless-v0")]
    recorded = [Recorded(episode, who, who) for who, part in parts for episode in read_episodes(open_minari(part))]
    write_dataset(plan, recorded)
    return Demonstrations.from_minari(name)


def test_sources_episodes_and_a_replay(tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = two_sources()
    asked = judge(lambda demonstrations: demonstrations.episodes >= 3)
    out = tmp_path / "out"
    run(["--dataset", "our/two-v0", "--out", str(out), "--seed", "3", "--method", "mdn", "--device", "cpu"])
    printed = capsys.readouterr().out
    suspect = int((pairs.episodes >= 3).sum())
    assert f"2 of 5 episodes and {suspect} of {len(pairs)} pairs are suspect; an estimated" in printed
    firsts = [line.split()[0] for line in printed.splitlines() if line.split()]
    assert firsts.index("careless") < firsts.index("safe")
    (given,) = asked
    assert (given["seed"], given["method"], given["device"]) == (3, "mdn", "cpu")
    assert given["sources"] == ("safe",) * 3 + ("careless",) * 2
    names = ["audit.json", "command.txt", "pairs.safetensors", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == names
    audit = load_audit(out)
    assert (audit.dataset, audit.seed, audit.sources) == ("our/two-v0", 3, given["sources"])
    page = (out / "report.html").read_text()
    assert "Audit of our/two-v0" in page
    assert "Replay of the worst episodes" in page
    assert '"policy":"careless"' in page  # the film
    assert "Not shown" not in page


def test_labels_are_read_only_when_asked(tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=50, episodes=1), "our/x-v0")
    truth = Demonstrations.from_minari("our/x-v0", labels=True).corrupt
    asked = judge(lambda _: truth)
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert asked[0]["sources"] is None  # a mix does not tell
    assert "truth" not in told
    assert (told["pairs"], told["suspect_pairs"], told["flagged_episodes"]) == (50, 15, None)
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out"), "--labels"])
    printed = capsys.readouterr().out
    assert "By the hidden labels, 30 % of the pairs are corrupt" in printed
    assert "Corrupt pairs are told from clean ones with an AUROC of 1.000, average precision 1.000." in printed
    assert "the 10 worst of 50 pairs; more are on the page:" in printed
    assert "AUROC of 1.000" in (tmp_path / "out" / "report.html").read_text()
    assert "Single pairs are no episodes" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("how", ["rollout", "flip"])
def test_only_what_was_recorded_is_filmed(how: str, tmp_path: Path, judge: Judge) -> None:
    mix(MixRequest(DRIVING, how, 0.5, pairs=None, episodes=4, settings=SHORT), "our/x-v0")
    truth = Demonstrations.from_minari("our/x-v0", labels=True).corrupt
    judge(lambda _: truth)
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    # Flipped actions do not lead to the states that they are said to lead to, and a good episode is no stand-in.
    assert ('"policy":"recorded"' in page) == (how == "rollout")
    assert ("There is no film of episodes " in page) == (how == "flip")


def test_an_episode_that_cannot_be_played_is_named(tmp_path: Path, judge: Judge) -> None:
    mix(MixRequest(DRIVING, "flip", 0.5, pairs=None, episodes=4, settings=SHORT), "our/x-v0")
    pairs = Demonstrations.from_minari("our/x-v0", labels=True)
    assert pairs.corrupt is not None
    touched = [str(episode) for episode in range(4) if pairs.corrupt[pairs.episodes == episode].any()]
    judge(lambda demonstrations: np.ones(len(demonstrations)))
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    listed = page.partition("Not shown: episodes ")[2].partition(".")[0]
    assert sorted(listed.split(", ")) == touched
    assert page.count('"policy":"recorded"') == 4 - len(touched) > 0


def test_every_film_tells_its_own_worst_moment() -> None:
    """Good episodes with a moment that is worse than any of the bad ones have no film, and take no moment from one."""
    collect("lane-driving", "safe", "our/x-v0", episodes=2 * REPLAYED, settings=SHORT)
    pairs = Demonstrations.from_minari("our/x-v0")
    quality = np.full(len(pairs), 0.9)
    quality[pairs.episodes < REPLAYED] = 0.3
    for episode in range(2 * REPLAYED):
        mine = np.flatnonzero(pairs.episodes == episode)
        quality[mine[5 : 5 + STEPS]] = 0.2 if episode < REPLAYED else 0.0
    (replay,) = audit_replay(open_minari("our/x-v0"), make_audit(quality, pairs.episodes))
    assert isinstance(replay, Replay)
    assert sorted(film.episode for film in replay.episodes) == [str(episode) for episode in range(REPLAYED)]
    dt = replay.road["dt"]
    said = f"{5 * dt:.1f} to {(5 + STEPS) * dt:.1f} s"
    assert {film.facts["worst moment"] for film in replay.episodes} == {f"{said} (conflict)"}
    # Where nothing is suspect, the worst is shown all the same, and there is no reason to give.
    quality[:] = np.where(quality == 0.9, 0.9, 0.8)
    (replay,) = audit_replay(open_minari("our/x-v0"), make_audit(quality, pairs.episodes))
    assert isinstance(replay, Replay)
    assert len(replay.episodes) == REPLAYED
    assert all(film.facts["worst moment"].endswith(" s") for film in replay.episodes)


def test_where_nothing_can_be_filmed_one_sentence_says_why(tmp_path: Path, judge: Judge) -> None:
    mix(MixRequest(DRIVING, "uniform", 1.0, pairs=None, episodes=2, settings=SHORT), "our/x-v0")
    judge(lambda demonstrations: demonstrations.episodes == 0)
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "There is no film of episode 0: played from its seed, the recorded actions do not lead" in page


def test_other_tasks_have_no_film(tmp_path: Path, judge: Judge, dataset: str) -> None:
    judge(lambda demonstrations: np.zeros(len(demonstrations)))
    run(["--dataset", dataset, "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No alarm" not in page  # good pairs are judged by 0.9 here, so that a tenth seems corrupt
    assert "Replay of the worst" not in page


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--method", "magic"], "magic"),
        (["--seed", "-1"], "seed must be a whole number of at least 0"),
        (["--dataset", "no/such-v0"], "neither a folder nor the id of a local Minari dataset"),
        (["--labels"], "nobody knows which pairs of"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(args: list[str], sentence: str, tmp_path: Path, judge: Judge) -> None:
    judge(lambda demonstrations: np.zeros(len(demonstrations)))
    collect("lane-driving", "safe", "our/x-v0", episodes=1, settings=SHORT)
    with pytest.raises(RobustBCError, match=sentence):
        run([*([] if "--dataset" in args else ["--dataset", "our/x-v0"]), "--out", str(tmp_path / "out"), *args])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["gpr", "lgpr", "rgpr"])
def test_a_judge_for_whom_there_are_too_many_pairs(method: str, tmp_path: Path) -> None:
    make_dataset(make_pairs(0, 4001), "our/many-v0")
    with pytest.raises(RobustBCError) as told:
        run(["--dataset", "our/many-v0", "--out", str(tmp_path / "out"), "--method", method])
    assert str(told.value) == (
        f"method '{method}' learns from at most 4000 pairs, but 'our/many-v0' has 4001, and a judge may have to learn"
        " from all of them; let another method judge, such as --method choicenet."
    )
    assert not (tmp_path / "out").exists()


def test_what_no_audit_can_be_asked_is_refused_before_the_folder_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    make_dataset(make_pairs(0), "our/x-v0")
    for words, sentence in (
        (["--method", "choicenet-clean"], "audits by itself; let a plain one judge, such as choicenet"),
        (["--device", "cuda"], "device 'cuda' is not available on this machine; use auto or cpu"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out"), *words])
        assert not (tmp_path / "out").exists()


def test_help_has_an_example(tmp_path: Path) -> None:
    done = robust_bc("audit", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "robust-bc audit --dataset mine/mixed-v0 --out runs/audit" in " ".join(done.stdout.split())
