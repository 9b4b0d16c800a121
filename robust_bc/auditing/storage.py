"""An audit in a folder: audit.json for people and programs, and the numbers of each pair beside it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load, save

from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.results import Audit
from robust_bc.errors import RobustBCError
from robust_bc.files import as_json, write_all_whole

AUDIT_FILE = "audit.json"
PAIRS_FILE = "pairs.safetensors"
FORMAT = "robust-bc audit"
VERSION = 1
ARRAYS = ("quality", "spread", "conflict", "foreign", "episodes")


def save_audit(audit: Audit, folder: Path) -> Path:
    """Both files, or none of them."""
    numbers = save({name: getattr(audit, name) for name in ARRAYS})
    content = {**describe(audit), "pairs_file_sha256": hashlib.sha256(numbers).hexdigest()}
    write_all_whole({folder / PAIRS_FILE: numbers, folder / AUDIT_FILE: as_json(content)})
    return folder


def describe(audit: Audit) -> dict[str, Any]:
    """All but the numbers of each pair, as plain objects; one-step episodes would only repeat their pairs."""
    return {
        "format": FORMAT,
        "version": VERSION,
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
    try:
        content = json.loads((place / AUDIT_FILE).read_bytes())
        numbers = (place / PAIRS_FILE).read_bytes()
    except FileNotFoundError as problem:
        raise RobustBCError(
            f"'{place}' has no audit: {Path(problem.filename).name} is missing; robust-bc audit makes one."
        ) from problem
    except (OSError, ValueError) as problem:
        raise RobustBCError(f"'{place / AUDIT_FILE}' is damaged; make the audit anew by robust-bc audit.") from problem
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RobustBCError(f"'{place / AUDIT_FILE}' is not an audit of robust-bc.")
    if content.get("version") != VERSION:
        raise RobustBCError(
            f"'{place / AUDIT_FILE}' is of version {content.get('version')}, but {VERSION} is read; make it anew."
        )
    if content.get("pairs_file_sha256") != hashlib.sha256(numbers).hexdigest():
        raise RobustBCError(
            f"'{place / PAIRS_FILE}' is damaged, or of another audit than {AUDIT_FILE}; make the audit anew."
        )
    return _assemble(content, numbers, place)


def _assemble(content: dict[str, Any], numbers: bytes, place: Path) -> Audit:
    try:
        sources, dataset = content["sources"], content["dataset"]
        return Audit(
            **{name: values for name, values in load(numbers).items() if name in ARRAYS},
            rate=Estimate(**content["rate"]),
            method=str(content["method"]),
            settings=dict(content["settings"]),
            seed=int(content["seed"]),
            dataset=None if dataset is None else str(dataset),
            pairs_sha256=str(content["pairs_sha256"]),
            sources=None if sources is None else tuple(sources),
            explains=bool(content["explains"]),
            settled=bool(content["settled"]),
        )
    except RobustBCError as problem:
        raise RobustBCError(f"'{place}' is no audit that can be used: {problem}") from problem
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise RobustBCError(
            f"'{place}' is no whole audit ({type(problem).__name__}: {problem}); make it anew by robust-bc audit."
        ) from problem
