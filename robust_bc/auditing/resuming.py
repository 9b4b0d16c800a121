"""An audit in parts, each kept in a file as soon as it is done: one that was interrupted goes on to the same bits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc.auditing import REVISION
from robust_bc.auditing.audit import Audit, load_audit
from robust_bc.auditing.audits import CHECKING, assemble, audit_settings, judge
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.checks import run_checks
from robust_bc.auditing.judging.verdict import Judged
from robust_bc.auditing.settings import AuditSettings
from robust_bc.auditing.storage import AGREEMENT, PREFIX, agreement_tensors, read_agreement
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.data.json_files import as_typed, read_json, sealed, unsealed
from robust_bc.data.tensor_files import Expected, read_sealed_tensors, sealed_tensors
from robust_bc.errors import DamagedFileError
from robust_bc.system.files import as_json, write_whole
from robust_bc.system.progress import Progress
from robust_bc.system.seeding import check_seed

CHECKS_FILE, JUDGED_FILE = "unfinished-checks.json", "unfinished-judged.safetensors"
EPISODES, PAIRS = ("episode_clean", "scores", "known"), ("conflict",)
EVIDENCE, UNDECIDED, FINGERPRINT = "evidence", "undecided", "fingerprint"


@dataclass(frozen=True)
class FoundByChecks:
    """What stands in the file of the checks."""

    fingerprint: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Unfinished:
    """The parts that are done of the audit of these pairs, with these settings and this seed, in a folder."""

    folder: Path
    fingerprint: str

    @classmethod
    def of(cls, folder: Path, demonstrations: Demonstrations, settings: AuditSettings, seed: int) -> Unfinished:
        """Nothing is read or written yet."""
        about = {"pairs": pairs_digest([demonstrations]), "settings": asdict(settings), "seed": seed, "code": REVISION}
        return cls(folder, hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest())

    def forget(self) -> None:
        """Remove what is kept."""
        for name in (CHECKS_FILE, JUDGED_FILE):
            (self.folder / name).unlink(missing_ok=True)

    def write_findings(self, findings: Sequence[Finding]) -> None:
        content = {"fingerprint": self.fingerprint, "findings": [asdict(finding) for finding in findings]}
        write_whole(self.folder / CHECKS_FILE, as_json(sealed(content)))

    def read_findings(self) -> list[Finding] | None:
        """None if they are not there, damaged, or of another audit."""
        path = self.folder / CHECKS_FILE
        with suppress(DamagedFileError):
            found = as_typed(FoundByChecks, unsealed(read_json(path), str(path)), str(path))
            if found.fingerprint == self.fingerprint:
                return list(found.findings)
        return None

    def write_judged(self, judged: Judged) -> None:
        arrays = {name: getattr(judged, name) for name in (*EPISODES, *PAIRS, "expected")}
        evidence = [] if judged.agreement is None else [judged.agreement.evidence]
        arrays |= agreement_tensors(judged.agreement) | {EVIDENCE: np.array(evidence, np.float64)}
        for name, text in ((UNDECIDED, (judged.undecided or "").encode()), (FINGERPRINT, self.fingerprint.encode())):
            arrays[name] = np.frombuffer(text, np.uint8)
        write_whole(self.folder / JUDGED_FILE, sealed_tensors(arrays))

    def read_judged(self, demonstrations: Demonstrations) -> Judged | None:
        """None if it is not there, damaged, or of another audit."""
        pairs, episodes = len(demonstrations), len(np.unique(demonstrations.episodes))
        with suppress(DamagedFileError):
            tensors = read_sealed_tensors(self.folder / JUDGED_FILE)
            expected = {name: Expected((episodes,), np.float64) for name in EPISODES}
            expected |= {name: Expected((pairs,), np.float64) for name in PAIRS}
            expected["expected"] = Expected(demonstrations.actions.shape, np.float64)
            expected |= {EVIDENCE: Expected((-1,), np.float64)}
            expected |= {name: Expected((-1,), np.uint8) for name in (UNDECIDED, FINGERPRINT)}
            evidence = tensors.arrays.get(EVIDENCE)
            if evidence is not None and len(evidence):
                expected |= {PREFIX + name: wanted for name, wanted in AGREEMENT.items()}
            arrays = tensors.take(expected)
            if arrays[FINGERPRINT].tobytes() == self.fingerprint.encode():
                return Judged(
                    **{name: arrays[name] for name in (*EPISODES, *PAIRS, "expected")},
                    agreement=read_agreement(arrays, float(arrays[EVIDENCE][0]) if len(arrays[EVIDENCE]) else None),
                    undecided=arrays[UNDECIDED].tobytes().decode(errors="replace") or None,
                )
        return None


def audit_in_folder(
    demonstrations: Demonstrations,
    folder: Path,
    *,
    seed: int = 0,
    resume: bool = False,
    progress: Progress | None = None,
    sources: Sequence[str] | None = None,
    dataset: str | None = None,
    **settings: Any,
) -> Audit:
    """As `audit`, with its finished parts kept in a folder until `Unfinished.forget`; with `resume` they are read."""
    chosen = audit_settings(settings)
    check_seed(seed)
    tell = progress or (lambda share, note: None)
    parts = Unfinished.of(folder, demonstrations, chosen, seed)
    if not resume:
        parts.forget()
    tell(0.0, "checking")
    findings = _done(parts.read_findings, lambda: run_checks(demonstrations, seed), parts.write_findings)
    judged = _done(
        lambda: parts.read_judged(demonstrations),
        lambda: judge(
            demonstrations, findings, chosen, seed, lambda share, note: tell(CHECKING + (1 - CHECKING) * share, note)
        ),
        parts.write_judged,
    )
    found = assemble(demonstrations, judged, findings, chosen, seed)
    return found.about(dataset, None if sources is None else tuple(sources))


def finished_audit(folder: Path, demonstrations: Demonstrations, seed: int) -> Audit | None:
    """The finished audit of just these pairs in a folder, with the usual settings and this seed; None if it is not."""
    found = load_audit(folder)
    same = found.pairs_sha256 == pairs_digest([demonstrations]) and found.settings == AuditSettings()
    return found if same and found.seed == seed else None


def _done(read: Callable[[], Any], compute: Callable[[], Any], keep: Callable[[Any], None]) -> Any:
    found = read()
    if found is None:
        found = compute()
        keep(found)
    return found
