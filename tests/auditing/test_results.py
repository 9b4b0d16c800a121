"""Audits refuse what is not one, rank what is bad, and come back from a folder to the same bits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from robust_bc.auditing.results import Audit, Estimate
from robust_bc.auditing.storage import ARRAYS, FILES, load_audit
from robust_bc.data.json_files import sealed
from robust_bc.errors import RobustBCError
from tests.auditing.audits import make_audit

AUDIT_FILE, PAIRS_FILE = FILES.description_file, FILES.tensors_file


def three_episodes(**more: Any) -> Audit:
    quality = np.r_[np.linspace(0.9, 1.0, 20), np.linspace(0.0, 0.3, 10), np.full(6, 0.6)]
    return make_audit(quality, np.repeat([4, 7, 9], [20, 10, 6]), ("ann", "bob", "ann"), **more)


def test_tables_are_worst_first() -> None:
    audit = three_episodes()
    rows = audit.episode_table()
    assert [(row.episode, row.source, row.pairs, row.flagged) for row in rows] == [
        (7, "bob", 10, True),
        (9, "ann", 6, False),
        (4, "ann", 20, False),
    ]
    assert rows[0].quality.value == pytest.approx(0.15)
    assert rows[0].quality.low < 0.15 < rows[0].quality.high
    assert rows[0].conflict == pytest.approx(0.85)
    assert (rows[0].worst_step, rows[2].worst_step) == (0, 0)
    assert [row.episode for row in audit.episode_table(most=1)] == [7]
    bob, ann = audit.source_table()
    assert (bob.source, bob.episodes, bob.pairs, bob.suspect_pairs, bob.flagged) == ("bob", 1, 10, 10, True)
    assert bob.quality == rows[0].quality  # one episode: the interval of its blocks
    assert (ann.episodes, ann.flagged_episodes, ann.pairs, ann.suspect_pairs) == (2, 0, 26, 0)
    assert ann.quality.value == pytest.approx((19 + 3.6) / 26)
    assert (ann.quality.low, ann.quality.high) == pytest.approx((0.6, 0.95))  # either episode alone
    assert make_audit([0.1, 0.9]).source_table() == []
    assert audit.suspects.sum() == 10


def test_the_alarm_begins_at_five_percent() -> None:
    assert not make_audit([1.0, 0.9], rate=Estimate(0.049, 0, 0.2)).alarm
    assert make_audit([1.0, 0.9], rate=Estimate(0.05, 0, 0.2)).alarm


def test_a_saved_audit_comes_back_to_the_same_bits(tmp_path: Path) -> None:
    audit = three_episodes(settings={"hidden": (64, 64), "rate": 1 / 3}, rate=Estimate(0.1, 1 / 30, 0.2))
    again = load_audit(audit.save(tmp_path / "new"))
    for name in ARRAYS:
        before, after = getattr(audit, name), getattr(again, name)
        assert (before.dtype, before.tobytes()) == (after.dtype, after.tobytes())
    for name in ("rate", "method", "settings", "seed", "dataset", "pairs_sha256", "sources"):
        assert getattr(again, name) == getattr(audit, name)
    assert again.episode_table() == audit.episode_table()
    content = json.loads((tmp_path / "new" / AUDIT_FILE).read_text())
    assert [row["episode"] for row in content["episode_table"]] == [7, 9, 4]
    assert content["source_table"][0]["quality"]["value"] == audit.source_table()[0].quality.value
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [AUDIT_FILE, PAIRS_FILE]


def test_single_pairs_are_not_told_twice(tmp_path: Path) -> None:
    audit = make_audit(np.linspace(0, 1, 50))
    assert audit.single_pairs
    content = json.loads((audit.save(tmp_path) / AUDIT_FILE).read_text())
    assert content["episode_table"] == []
    assert content["suspect_pairs"] == 25
    assert load_audit(tmp_path).sources is None


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"quality": np.array([0.5, 1.5, 0.5])}, "quality must be between 0 and 1, but that of pair 1 is 1.5"),
        ({"quality": np.array([0.5, 0.5, -0.1])}, "quality must be between 0 and 1, but that of pair 2 is -0.1"),
        ({"quality": np.array([np.nan, 0.5, 0.5])}, "quality must be between 0 and 1, but that of pair 0 is nan"),
        ({"conflict": np.array([0.5, 0.5, np.nan])}, "conflict must be between 0 and 1, but that of pair 2 is nan"),
        ({"foreign": np.array([0.5, 2, 0.5])}, "foreign must be between 0 and 1, but that of pair 1 is 2"),
        ({"spread": np.array([0.5, np.inf, 0.5])}, "spread must be 0 or more, but that of pair 1 is inf"),
        ({"spread": np.zeros(2)}, r"spread must be 3 numbers, one for each pair, but .* shape \(2,\)"),
        ({"quality": np.zeros((3, 1))}, r"quality must be 3 numbers, one for each pair, but .* shape \(3, 1\)"),
        ({"quality": np.zeros(1)}, "quality has 1 pairs, but an audit has at least 2"),
        ({"episodes": np.zeros(3)}, "episodes must be 3 whole numbers"),
        (
            {"episodes": np.array([0, 2**64 - 1, 1], np.uint64)},
            r"episodes must be below 2\^63, but that of pair 1 is 18446744073709551615",
        ),
        ({"sources": ("a", "b")}, "sources has 2 names for 3 episodes"),
        ({"rate": Estimate(0.9, 0.5, 1.2)}, "rate is a share between 0 and 1"),
        ({"settings": {"method": object()}}, "settings must be plain words and finite numbers"),
    ],
)
def test_what_is_no_audit_is_refused_by_name(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        dataclasses.replace(make_audit([0.2, 0.5, 0.9]), **more)


def test_an_estimate_lies_in_its_interval() -> None:
    with pytest.raises(RobustBCError, match=r"an estimate of 0.5 must lie in its interval \[0.6, 0.7\]"):
        Estimate(0.5, 0.6, 0.7)
    with pytest.raises(RobustBCError, match="the high of an estimate must be a finite number, but it is nan"):
        Estimate(0.5, 0.4, float("nan"))


def broken(folder: Path, how: str) -> None:
    audit_file, pairs_file = folder / AUDIT_FILE, folder / PAIRS_FILE
    content = json.loads(audit_file.read_text())
    content.pop("sha256")
    if how == "no json":
        audit_file.write_text("{")
    elif how == "bits":
        numbers = bytearray(pairs_file.read_bytes())
        numbers[-1] ^= 1
        pairs_file.write_bytes(bytes(numbers))
    elif how == "missing":
        pairs_file.unlink()
    elif how == "other":
        save_file({"quality": np.zeros(3)}, pairs_file)
    elif how in content:
        del content[how]
        audit_file.write_text(json.dumps(sealed(content)))
    elif how == "by hand":
        audit_file.write_text(audit_file.read_text().replace('"seed": 0', '"seed": 1'))
    else:  # on purpose, by somebody who knows how
        audit_file.write_text(json.dumps(sealed({**content, **json.loads(how)})))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("no json", "audit.json' is not valid JSON"),
        ("by hand", "audit.json' was damaged, or changed by hand"),
        ("bits", "pairs.safetensors' was damaged, or belongs to another audit"),
        ("other", "pairs.safetensors' was damaged, or belongs to another audit"),
        ("missing", "has no audit: pairs.safetensors is missing; robust-bc audit makes one"),
        ("format", "is no audit of robust-bc"),
        ("rate", "'rate' is missing"),
        ('{"format_version": 1}', "has format version 1, but this robust-bc reads 2"),
        ('{"rate": {"value": 2, "low": 1, "high": 3}}', "rate is a share between"),
        ('{"sources": ["a"]}', "sources has 1 names for 3 episodes"),
        ('{"settings": 3}', "'settings' must be an object, but it is 3"),
    ],
)
def test_a_damaged_audit_is_refused_in_one_sentence(how: str, sentence: str, tmp_path: Path) -> None:
    three_episodes().save(tmp_path)
    broken(tmp_path, how)
    with pytest.raises(RobustBCError, match=sentence) as refused:
        load_audit(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_folder_without_an_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"has no audit: audit\.json is missing"):
        load_audit(tmp_path)
