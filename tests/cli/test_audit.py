"""`robust-bc audit`: what it prints, what it writes, and what never reaches the judge."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from robust_bc import Demonstrations, RobustBCError
from robust_bc.auditing import audits, resuming
from robust_bc.auditing.audit import Audit, load_audit
from robust_bc.auditing.showing.windows import STEPS
from robust_bc.cli.audit import run
from robust_bc.data.minari_files import open_minari
from robust_bc.report import Replay
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import DatasetPlan, Recorded, write_dataset
from robust_bc_demos.mixing.datasets import MixRequest, mix, read_episodes
from robust_bc_envs.audit_replays import REPLAYED, audit_replay
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task
from tests.cli.test_cli import robust_bc
from tests.robust_bc.auditing.audits import audit_of, make_audit

DRIVING = find_task("lane-driving")
SHORT = {"length": 60, "cars": 1}
Judge = Callable[[Callable[[Demonstrations], Any]], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """In place of the audit, somebody who knows which pairs are bad; what it was asked is kept."""

    def install(bad: Callable[[Demonstrations], Any]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def audit(demonstrations: Demonstrations, folder: Path, **given: Any) -> Audit:
            assert demonstrations.corrupt is None  # no label ever gets here
            asked.append(given)
            given["progress"](0.5, "half")
            about = {name: given[name] for name in ("sources", "seed")}
            return audit_of(demonstrations, bad(demonstrations), given["dataset"], **about)

        monkeypatch.setattr(resuming, "audit_in_folder", audit)
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
    run(["--dataset", "our/two-v0", "--out", str(out), "--seed", "3"])
    printed = capsys.readouterr().out
    assert printed.startswith("2 of 5 episodes are bad; an estimated ")
    firsts = [line.split()[0] for line in printed.splitlines() if line.split()]
    assert firsts.index("careless") < firsts.index("safe")
    stays = int((pairs.episodes < 3).sum())
    assert f"Leave out {len(pairs) - stays} pairs and learn from the other {stays}" in printed
    assert f"robust-bc filter --dataset our/two-v0 --audit {out} --out mine/clean-v0" in printed
    (given,) = asked
    assert (given["seed"], given["resume"]) == (3, False)
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
    assert (told["pairs"], told["bad_pairs"], told["kept_pairs"], told["why_kept"]) == (50, 15, 35, None)
    run(["--dataset", "our/x-v0", "--out", str(tmp_path / "out"), "--labels", "--overwrite"])
    printed = capsys.readouterr().out
    assert "By the hidden labels, 30 % of the pairs are corrupt" in printed
    assert "Corrupt pairs are told from clean ones with an AUROC of 1.000, average precision 1.000." in printed
    assert "and 40 more, none of them worse" in printed
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


def test_every_film_tells_its_own_worst_window() -> None:
    """Good episodes with a window that is worse than any of the bad ones have no film, and take no window from one."""
    collect("lane-driving", "safe", "our/x-v0", episodes=2 * REPLAYED, settings=SHORT)
    pairs = Demonstrations.from_minari("our/x-v0")
    bad = np.arange(2 * REPLAYED) < REPLAYED
    conflict = np.where(bad[pairs.episodes], 0.5, 0.1)
    for episode in range(2 * REPLAYED):
        mine = np.flatnonzero(pairs.episodes == episode)
        conflict[mine[5 : 5 + STEPS]] = 0.7 if bad[episode] else 1.0
    audit = make_audit(1 - conflict, pairs.episodes, episode_clean=np.where(bad, 0.0, 1.0))
    (replay,) = audit_replay(open_minari("our/x-v0"), audit)
    assert isinstance(replay, Replay)
    assert sorted(film.episode for film in replay.episodes) == [str(episode) for episode in range(REPLAYED)]
    dt = replay.road["dt"]
    assert {film.facts["worst window"] for film in replay.episodes} == {f"{5 * dt:.1f} to {(5 + STEPS) * dt:.1f} s"}
    # Where nothing is bad, the worst is shown all the same.
    good = make_audit(1 - conflict, pairs.episodes, episode_clean=np.ones(2 * REPLAYED))
    (replay,) = audit_replay(open_minari("our/x-v0"), good)
    assert isinstance(replay, Replay)
    assert {film.facts["verdict"] for film in replay.episodes} == {"clean"}


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
    assert "No episode is bad" in page or "No pair is bad" in page
    assert "Replay of the worst" not in page


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--fail-above", "10"], "--fail-above is a share between 0 and 1, but it is 10"),
        (["--weights", "w.txt"], "weights are written as .parquet or .csv"),
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


@pytest.mark.parametrize(("limit", "code"), [("0.5", 0), ("0.05", 1)])
def test_more_than_is_allowed_ends_with_one_after_all_is_written(
    limit: str, code: int, tmp_path: Path, judge: Judge, dataset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(lambda demonstrations: demonstrations.episodes == 0)
    weights = tmp_path / "w.csv"
    words = ["--dataset", dataset, "--out", str(tmp_path / "out"), "--fail-above", limit, "--weights", str(weights)]
    with pytest.raises(SystemExit) if code else nullcontext() as ended:
        run(words)
    said = capsys.readouterr().err
    if code:
        assert isinstance(ended, pytest.ExceptionInfo)
        assert ended.value.code == 1
        assert said.count("\n") == 1
        assert said.endswith("of the pairs are bad, and --fail-above allows 5 %.\n")
    assert pandas.read_csv(weights)["weight"].tolist() == load_audit(tmp_path / "out").clean.tolist()


def test_a_reader_who_leaves_changes_no_exit_code(
    tmp_path: Path, judge: Judge, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(lambda demonstrations: demonstrations.episodes == 0)
    words = ["--dataset", dataset, "--out", str(tmp_path / "out"), "--fail-above", "0.05"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        with pytest.raises(SystemExit) as ended:
            run(words)
    assert ended.value.code == 1


def test_who_cannot_tell_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str) -> None:
    def undecided(demonstrations: Demonstrations, folder: Path, **given: Any) -> Audit:
        clean = np.full(len(demonstrations), 0.5)
        return make_audit(clean, demonstrations.episodes, undecided="a tie.", dataset=given["dataset"])

    monkeypatch.setattr(resuming, "audit_in_folder", undecided)
    run(["--dataset", dataset, "--out", str(tmp_path / "out"), "--fail-above", "0.1"])
    assert load_audit(tmp_path / "out").rate.value == 0.5


def test_nothing_is_overwritten_unasked(tmp_path: Path, judge: Judge, dataset: str) -> None:
    asked = judge(lambda demonstrations: demonstrations.episodes == 0)
    words = ["--dataset", dataset, "--out", str(tmp_path / "out")]
    run(words)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(RobustBCError, match="has a finished audit; take another folder, or --overwrite"):
        run([*words, "--seed", "1"])
    with pytest.raises(RobustBCError, match="has a finished audit of other pairs"):
        run([*words, "--seed", "1", "--resume"])
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    run([*words, "--resume"])  # it is finished, and stays
    assert len(asked) == 1
    assert load_audit(tmp_path / "out").seed == 0
    run([*words, "--seed", "1", "--overwrite"])
    assert load_audit(tmp_path / "out").seed == 1
    (tmp_path / "w.csv").write_text("mine")
    with pytest.raises(RobustBCError, match="is there already; take another file, or --overwrite"):
        run(["--dataset", dataset, "--out", str(tmp_path / "new"), "--weights", str(tmp_path / "w.csv")])
    assert (tmp_path / "w.csv").read_text() == "mine"


def test_an_interrupted_audit_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str
) -> None:
    words = ["--dataset", dataset, "--out"]
    run([*words, str(tmp_path / "whole")])

    def stopped(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(resuming, "judge", stopped)
    with pytest.raises(KeyboardInterrupt):
        run([*words, str(tmp_path / "parts")])
    assert (tmp_path / "parts" / resuming.CHECKS_FILE).exists()
    monkeypatch.setattr(resuming, "judge", audits.judge)
    monkeypatch.setattr(resuming, "run_checks", stopped)
    run([*words, str(tmp_path / "parts"), "--resume"])
    for name in ("audit.json", "pairs.safetensors"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not list((tmp_path / "parts").glob("unfinished*"))


def test_help_has_an_example(tmp_path: Path) -> None:
    done = robust_bc("audit", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "robust-bc audit --dataset mine/mixed-v0 --out runs/audit" in " ".join(done.stdout.split())
