"""Checks: faults of the recording itself, each found by a fixed rule and named by episode and step."""

from __future__ import annotations

from robust_bc.auditing.findings import Finding
from robust_bc.demonstrations import Demonstrations


def run_checks(demonstrations: Demonstrations, seed: int = 0) -> list[Finding]:
    """All checks."""
    return []
