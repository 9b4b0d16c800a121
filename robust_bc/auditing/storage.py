"""An audit in a folder: audit.json for people and programs, and the numbers of each pair beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.results import Audit
from robust_bc.data.described_tensors import DescribedTensors
from robust_bc.data.tensor_files import Expected
from robust_bc.errors import DamagedFileError, RobustBCError

FILES = DescribedTensors("audit", 2, "audit.json", "pairs.safetensors")
ARRAYS = {name: Expected((-1,), np.float64) for name in ("quality", "spread", "conflict", "foreign")} | {
    "episodes": Expected((-1,), np.int64)
}


@dataclass(frozen=True)
class AuditDescription:
    """What stands in audit.json; the tables are for its readers and are computed anew from the pairs."""

    dataset: str | None
    pairs: int
    episodes: int
    suspect_pairs: int
    flagged_episodes: int | None
    rate: Estimate
    alarm: bool
    method: str
    settings: dict[str, Any]
    seed: int
    pairs_sha256: str
    explains: bool
    settled: bool
    sources: tuple[str, ...] | None
    source_table: list[dict[str, Any]]
    episode_table: list[dict[str, Any]]


def save_audit(audit: Audit, folder: Path) -> Path:
    """Both files, or none of them."""
    return FILES.write(folder, describe(audit), save({name: getattr(audit, name) for name in ARRAYS}))


def describe(audit: Audit) -> dict[str, Any]:
    """All but the numbers of each pair, as plain objects; one-step episodes would only repeat their pairs."""
    return {
        "dataset": audit.dataset,
        "pairs": len(audit),
        "episodes": len(audit.grouping.names),
        "suspect_pairs": int(audit.suspects.sum()),
        "flagged_episodes": sum(row.flagged for row in audit.episode_table()) if not audit.single_pairs else None,
        "rate": asdict(audit.rate),
        "alarm": audit.alarm,
        "method": audit.method,
        "settings": audit.settings,
        "seed": audit.seed,
        "pairs_sha256": audit.pairs_sha256,
        "explains": audit.explains,
        "settled": audit.settled,
        "sources": None if audit.sources is None else list(audit.sources),
        "source_table": [asdict(row) for row in audit.source_table()],
        "episode_table": [] if audit.single_pairs else [asdict(row) for row in audit.episode_table()],
    }


def load_audit(folder: str | Path) -> Audit:
    """The audit that `robust-bc audit --out` or `Audit.save` left in a folder; its tables are computed anew."""
    place = Path(folder).expanduser()
    for name in (FILES.description_file, FILES.tensors_file):
        if not (place / name).exists():
            raise RobustBCError(f"'{place}' has no audit: {name} is missing; robust-bc audit makes one.")
    try:
        content, tensors = FILES.read(place, AuditDescription)
        return Audit(
            **tensors.take(ARRAYS),
            rate=content.rate,
            method=content.method,
            settings=content.settings,
            seed=content.seed,
            dataset=content.dataset,
            pairs_sha256=content.pairs_sha256,
            sources=content.sources,
            explains=content.explains,
            settled=content.settled,
        )
    except RobustBCError as problem:
        raise DamagedFileError(f"{str(problem).rstrip('.')}; make the audit anew by robust-bc audit.") from problem
