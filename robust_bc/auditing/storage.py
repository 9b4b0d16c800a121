"""An audit in a folder: audit.json for people and programs, the numbers of each pair, and the page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.agreement import Agreement
from robust_bc.auditing.results import AuditResults
from robust_bc.auditing.settings import AuditSettings
from robust_bc.auditing.showing.page import audit_page
from robust_bc.auditing.showing.wording import verdict_sentence
from robust_bc.data.described_tensors import DescribedTensors
from robust_bc.data.tensor_files import Expected
from robust_bc.errors import DamagedFileError
from robust_bc.report import Page, page_as_html

FILES = DescribedTensors("audit", 3, "audit.json", "pairs.safetensors")
PAGE_FILE = "report.html"
ARRAYS = {
    **{name: Expected((-1,), np.float64) for name in ("clean", "conflict", "episode_clean", "scores", "known")},
    **{name: Expected((-1, -1), np.float64) for name in ("shown", "expected")},
    "episodes": Expected((-1,), np.int64),
}
AGREEMENT = {
    "compared": Expected((-1,), np.int64),
    "disagreement": Expected((-1, -1), np.float64),
    "majority": Expected((-1,), np.bool_),
    "scores": Expected((-1,), np.float64),
}
PREFIX = "agreement."
MOST_ROWS = 10_000
"""Episodes in the table of audit.json, the worst; all are in the tensors."""


@dataclass(frozen=True)
class AuditDescription:
    """What stands in audit.json; verdict, counts and tables are for its readers, and are computed anew."""

    dataset: str | None
    verdict: str
    sentence: str
    pairs: int
    episodes: int
    bad_pairs: int
    bad_episodes: int
    rate: Estimate
    undecided: str | None
    settings: AuditSettings
    seed: int
    pairs_sha256: str
    evidence: float | None
    sources: tuple[str, ...] | None
    findings: tuple[Finding, ...]
    source_table: list[dict[str, Any]]
    episode_table: list[dict[str, Any]]


def save_audit(audit: AuditResults, folder: Path, page: Page | None = None) -> Path:
    """All three files, or none of them; without a page, the one that the audit itself has."""
    html = page_as_html(page or audit_page(audit, folder))
    return FILES.write(folder, describe(audit), save(_tensors(audit)), {PAGE_FILE: html})


def describe(audit: AuditResults) -> dict[str, Any]:
    """All but the numbers of each pair, as plain objects; one-step episodes would only repeat their pairs."""
    return {
        "dataset": audit.dataset,
        "verdict": audit.verdict,
        "sentence": verdict_sentence(audit),
        "pairs": len(audit),
        "episodes": len(audit.verdicts),
        "bad_pairs": int(audit.bad_pairs.sum()),
        "bad_episodes": int(audit.bad_episodes.sum()),
        "rate": asdict(audit.rate),
        "undecided": audit.undecided,
        "settings": asdict(audit.settings),
        "seed": audit.seed,
        "pairs_sha256": audit.pairs_sha256,
        "evidence": None if audit.agreement is None else audit.agreement.evidence,
        "sources": None if audit.sources is None else list(audit.sources),
        "findings": [asdict(finding) for finding in audit.findings],
        "source_table": [asdict(row) for row in audit.source_rows()],
        "episode_table": [] if audit.single_pairs else [asdict(row) for row in audit.episode_rows(MOST_ROWS)],
    }


def agreement_tensors(found: Agreement | None) -> dict[str, NDArray[Any]]:
    """The arrays of an agreement, by the names that they have in a file."""
    if found is None:
        return {}
    return {PREFIX + name: np.asarray(getattr(found, name), expected.type) for name, expected in AGREEMENT.items()}


def read_agreement(arrays: dict[str, NDArray[Any]], evidence: float | None) -> Agreement | None:
    """The agreement in some arrays, each checked against the others; none without a evidence."""
    if evidence is None:
        return None
    compared, disagreement, majority, scores = (arrays[PREFIX + name] for name in AGREEMENT)
    count, episodes = len(compared), len(scores)
    inside = count > 0 and compared[0] >= 0 and compared[-1] < episodes and bool((np.diff(compared) > 0).all())
    if episodes != len(arrays["scores"]) or not inside:
        raise DamagedFileError(f"the episodes that were compared must be some of {len(arrays['scores'])}, in order.")
    if disagreement.shape != (count, count) or majority.shape != (count,) or (disagreement < 0).any():
        raise DamagedFileError(f"the agreement must be that of {count} episodes with each other.")
    return Agreement(compared.astype(np.intp), disagreement, majority, evidence, scores)


def _tensors(audit: AuditResults) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(audit, name) for name in ARRAYS} | agreement_tensors(audit.agreement)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}
