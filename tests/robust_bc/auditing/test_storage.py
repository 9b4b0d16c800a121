"""An audit comes back from its folder to the same bits, with its page beside it; what is damaged is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from robust_bc.auditing.audit import Audit, load_audit
from robust_bc.auditing.storage import AGREEMENT, ARRAYS, FILES, PAGE_FILE
from robust_bc.data.json_files import sealed
from robust_bc.errors import RobustBCError
from tests.robust_bc.auditing.audits import agreement_of, make_audit
from tests.robust_bc.auditing.test_results import three_episodes

AUDIT_FILE, PAIRS_FILE = FILES.description_file, FILES.tensors_file


def full() -> Audit:
    """With everything that an audit can have."""
    return three_episodes(agreement=agreement_of([False, True, False]), rate=three_episodes().rate, seed=3)


def test_a_saved_audit_comes_back_to_the_same_bits(tmp_path: Path) -> None:
    audit = full()
    again = load_audit(audit.save(tmp_path / "new"))
    assert audit.agreement is not None
    assert again.agreement is not None
    both = [(audit, again, name) for name in ARRAYS] + [
        (audit.agreement, again.agreement, name) for name in (*AGREEMENT, "order")
    ]
    for old, new, name in both:
        before, after = getattr(old, name), getattr(new, name)
        assert (before.dtype, before.shape, before.tobytes()) == (after.dtype, after.shape, after.tobytes()), name
    assert again.agreement.evidence == audit.agreement.evidence
    for name in ("rate", "settings", "seed", "dataset", "pairs_sha256", "sources", "findings", "undecided"):
        assert getattr(again, name) == getattr(audit, name)
    assert again.episode_rows() == audit.episode_rows()
    content = json.loads((tmp_path / "new" / AUDIT_FILE).read_text())
    assert [row["episode"] for row in content["episode_table"]] == [7, 9, 4]
    assert (content["verdict"], content["bad_episodes"]) == ("bad", 1)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [AUDIT_FILE, PAIRS_FILE, PAGE_FILE]


def test_arrays_without_a_dataset_have_the_same_page(tmp_path: Path) -> None:
    told, untold = full(), three_episodes(agreement=full().agreement, dataset=None)
    pages = [(audit.save(tmp_path / str(n)) / PAGE_FILE).read_text() for n, audit in enumerate((told, untold))]
    for page in pages:
        assert "Disagreement of the episodes" in page
        assert "Worst windows" in page
    assert "robust-bc filter --dataset test/pairs-v0 --audit" in pages[0]
    assert "kept = demonstrations.select(audit.keep())" in pages[1]
    assert "robust-bc" not in pages[1].partition("<main>")[2].partition("<script")[0]


def test_single_pairs_are_not_told_twice(tmp_path: Path) -> None:
    audit = make_audit(np.linspace(0, 1, 50))
    content = json.loads((audit.save(tmp_path) / AUDIT_FILE).read_text())
    assert content["episode_table"] == []
    assert content["bad_pairs"] == 3
    assert load_audit(tmp_path).sources is None
    assert load_audit(tmp_path).agreement is None


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
        save_file({"clean": np.zeros(3)}, pairs_file)
    elif how in content:
        del content[how]
        audit_file.write_text(json.dumps(sealed(content)))
    elif how == "by hand":
        audit_file.write_text(audit_file.read_text().replace('"seed": 3', '"seed": 1'))
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
        ('{"format_version": 2}', "has format version 2, but this robust-bc reads 3"),
        ('{"rate": {"value": 2, "low": 1, "high": 3}}', "rate is a share between"),
        ('{"sources": ["a"]}', "sources has 1 names for 3 episodes"),
        ('{"settings": {"features": -1}}', "features must be a number above 0"),
        ('{"settings": {"magic": 1}}', "'settings.magic' is not known"),
        ('{"findings": [{"check": "x"}]}', "'findings.0..episode' is missing"),
        ('{"evidence": null}', "has an unknown tensor 'agreement.compared'"),
    ],
)
def test_a_damaged_audit_is_refused_in_one_sentence(how: str, sentence: str, tmp_path: Path) -> None:
    full().save(tmp_path)
    broken(tmp_path, how)
    with pytest.raises(RobustBCError, match=sentence) as refused:
        load_audit(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("clean", np.full(36, 2.0), "clean must be between 0 and 1"),
        ("scores", np.zeros(2), r"must be some of 2, in order"),
        ("expected", np.zeros((36, 3)), r"expected must be numbers of shape \(36, 2\)"),
        ("agreement.compared", np.array([0, 1, 3]), "must be some of 3, in order"),
        ("agreement.compared", np.array([0, 1, 1]), "must be some of 3, in order"),
        ("agreement.compared", np.array([-1, 0, 1]), "must be some of 3, in order"),
        ("agreement.compared", np.zeros(0, np.int64), "must be some of 3, in order"),
        ("agreement.majority", np.zeros(2, np.bool_), "must be that of 3 episodes with each other"),
        ("agreement.disagreement", np.zeros((3, 2)), "must be that of 3 episodes with each other"),
        ("agreement.disagreement", np.full((3, 3), np.nan), "numbers that are not finite"),
    ],
)
def test_every_array_is_checked(name: str, value: np.ndarray, sentence: str, tmp_path: Path) -> None:
    """As somebody can write it who makes all checksums right."""
    full().save(tmp_path)
    content = json.loads((tmp_path / AUDIT_FILE).read_text())
    for entry in ("sha256", "tensors_sha256", "format", "format_version"):
        content.pop(entry)
    FILES.write(tmp_path, content, save({**load_file(tmp_path / PAIRS_FILE), name: value}))
    with pytest.raises(RobustBCError, match=sentence):
        load_audit(tmp_path)


def test_a_folder_without_an_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"has no audit: audit\.json is missing"):
        load_audit(tmp_path)
