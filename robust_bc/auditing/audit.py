"""An audit as people hold it: printed, saved into a folder, and loaded from there."""

from __future__ import annotations

from pathlib import Path

from robust_bc.auditing.results import AuditResults
from robust_bc.auditing.showing.wording import short_table
from robust_bc.auditing.storage import AGREEMENT, ARRAYS, FILES, PREFIX, AuditDescription, read_agreement, save_audit
from robust_bc.errors import DamagedFileError, RobustBCError


class Audit(AuditResults):
    """What `robust_bc.audit` returns; `print(audit)` is a short table."""

    def __str__(self) -> str:
        return short_table(self)

    def save(self, folder: str | Path) -> Path:
        """Write audit.json, pairs.safetensors and report.html into a folder; `load_audit` reads the first two."""
        return save_audit(self, Path(folder))


def load_audit(folder: str | Path) -> Audit:
    """The audit that `robust-bc audit --out` or `Audit.save` left in a folder; its tables are computed anew."""
    place = Path(folder).expanduser()
    for name in (FILES.description_file, FILES.tensors_file):
        if not (place / name).exists():
            raise RobustBCError(f"'{place}' has no audit: {name} is missing; robust-bc audit makes one.")
    try:
        content, tensors = FILES.read(place, AuditDescription)
        wanted = dict(ARRAYS)
        if content.evidence is not None:
            wanted |= {PREFIX + name: expected for name, expected in AGREEMENT.items()}
        arrays = tensors.take(wanted)
        return Audit(
            **{name: arrays[name] for name in ARRAYS},
            agreement=read_agreement(arrays, content.evidence),
            findings=content.findings,
            rate=content.rate,
            undecided=content.undecided,
            settings=content.settings,
            seed=content.seed,
            dataset=content.dataset,
            pairs_sha256=content.pairs_sha256,
            sources=content.sources,
        )
    except RobustBCError as problem:
        raise DamagedFileError(f"{str(problem).rstrip('.')}; make the audit anew by robust-bc audit.") from problem
