"""The sentences of an audit say what its numbers say, and fit on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.results import Estimate
from robust_bc.auditing.showing.wording import (
    COLUMNS,
    ROWS,
    next_commands,
    short_table,
    truth_sentences,
    verdict_sentence,
)
from robust_bc.auditing.truth import compare
from tests.robust_bc.auditing.audits import CERTAIN, make_audit

EPISODES = np.repeat(np.arange(10), 20)


def ten_episodes(bad: int, single: int = 0, **more: Any) -> Audit:
    """The first ones are bad, and of the last episode some pairs."""
    of_episodes = np.where(np.arange(10) < bad, 0.0, 1.0)
    clean = of_episodes[EPISODES]
    clean[len(clean) - single :] = 0.0
    return make_audit(clean, EPISODES, **{"episode_clean": of_episodes, **more})


@pytest.mark.parametrize(
    ("audit", "sentence"),
    [
        (
            ten_episodes(3, rate=CERTAIN),
            "3 of 10 episodes are bad; an estimated 30 % of the pairs are bad (surely 25 %, at most 35 %).",
        ),
        (ten_episodes(1), "1 of 10 episodes is bad; an estimated 10 % of the pairs are bad."),
        (ten_episodes(0), "No episode is bad; an estimated 0 % of the pairs are bad."),
        (ten_episodes(0, 5), "No episode is bad, but 5 single pairs are; an estimated 2.5 % of the pairs are bad."),
        (
            ten_episodes(2, 1),
            "2 of 10 episodes are bad, and so is 1 single pair of the others; an estimated 20.5 % of the pairs are"
            " bad.",
        ),
        (
            make_audit([0.0, 1.0, 1.0, 1.0]),
            "1 of 4 pairs is bad; an estimated 25 % of the pairs are bad. One by one, pairs from states where nobody"
            " else has been cannot be told; whole episodes may be.",
        ),
        (
            ten_episodes(2, undecided="two groups contradict each other."),
            "The audit cannot tell good from bad: two groups contradict each other. The checks alone found 2 of 10"
            " episodes to be bad.",
        ),
        (
            ten_episodes(1, episode_clean=np.r_[0.0, 0.5, np.ones(8)], rate=Estimate(0.1, 0.1, 0.2)),
            "1 of 10 episodes is bad; an estimated 10 % of the pairs are bad (surely 10 %, at most 20 %). For 1 episode"
            " the audit cannot tell.",
        ),
    ],
)
def test_the_verdict_in_a_sentence(audit: Audit, sentence: str) -> None:
    assert verdict_sentence(audit) == sentence


@pytest.mark.parametrize("count", [3, 10, 30])
def test_the_short_table_is_short(count: int) -> None:
    finding = Finding("duplicated-rows", 0, 4, "a very long story " * 9, True)
    audit = make_audit(
        np.repeat(np.linspace(0, 1, count), 20),
        np.repeat(np.arange(count), 20),
        ["\x1b[31mspeaker of a long name"] * count,
        findings=(finding,),
        undecided="word " * 40,
    )
    lines = str(audit).splitlines()
    assert str(audit) == short_table(audit)
    assert max(map(len, lines)) <= COLUMNS
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["episode", "source", "pairs", "verdict", "P(clean)", "why"]
    assert len(table) == 1 + min(count, ROWS) + (count > ROWS)
    assert table[1].startswith("0  ")  # the worst
    assert "\x1b" not in str(audit)


def test_single_pairs_are_not_counted() -> None:
    lines = str(make_audit(np.linspace(0, 1, 5))).splitlines()
    assert lines[lines.index("") + 1].split() == ["pair", "verdict", "P(clean)", "why"]


def test_what_to_run_next() -> None:
    sentence, commands = next_commands(ten_episodes(3, dataset="my data"), Path("runs/a b"))
    assert sentence == "Leave out 60 pairs and learn from the other 140, as a new dataset or in one step:"
    assert commands == [
        "robust-bc filter --dataset 'my data' --audit 'runs/a b' --out mine/clean-v0",
        "robust-bc train --clean --dataset 'my data' --out runs/mine",
    ]
    _, (cut, _) = next_commands(ten_episodes(3, 2), Path("a"), cut=True)
    assert " --audit a --cut --out " in cut
    _, python = next_commands(ten_episodes(3, dataset=None), Path("a"))
    assert python == ["kept = demonstrations.select(audit.keep())", "policy = robust_bc.fit(kept, clean=False)"]
    for audit, why in (
        (ten_episodes(0), "Nothing has to be left out."),
        (ten_episodes(6), "Everything is kept: 60% of the pairs would go, and who is left is no majority."),
        (ten_episodes(3, undecided="a tie."), "Everything is kept: a tie."),
    ):
        sentence, commands = next_commands(audit, Path("a"))
        assert sentence == f"{why} To learn from all of it:"
        assert commands == ["robust-bc train --dataset test/pairs-v0 --out runs/mine"]


def test_the_truth_is_told_as_it_is() -> None:
    audit = ten_episodes(3, rate=CERTAIN)
    labels = EPISODES < 2  # the third bad one is an error
    truth = compare(audit, labels)
    assert truth.rate == 0.2
    assert truth.episode_auroc == pytest.approx((7 + 0.5) / 8)
    assert truth.pair_auroc == pytest.approx((140 + 10) / 160)
    assert truth.episode_spearman is None
    rate, pairs, episodes = truth_sentences(audit, truth)
    assert "20 % of the pairs are corrupt: the estimate is 10.0 points too high, and the truth is outside" in rate
    assert pairs.startswith("Corrupt pairs are told from clean ones with an AUROC of 0.938")
    assert episodes.startswith("Corrupt episodes are told")
    assert "All pairs are of one kind" in truth_sentences(audit, compare(audit, np.zeros(200, np.bool_)))[1]


def test_a_graded_mix_is_ranked() -> None:
    noise = np.linspace(0, 0.7, 10)
    for scores, correlation in ((np.arange(10.0) ** 3, 1.0), (-np.arange(10.0), -1.0), (np.zeros(10), None)):
        audit = ten_episodes(0, scores=scores)
        truth = compare(audit, EPISODES > 0, noise[EPISODES])
        assert truth.episode_spearman == (None if correlation is None else pytest.approx(correlation))
        assert len(truth_sentences(audit, truth)) == 3 + (correlation is not None)
