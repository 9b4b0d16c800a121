"""Writes the pages of docs/ that show results, from docs/results (`make docs`).

python scripts/pages.py
"""

from __future__ import annotations

from pathlib import Path

from robust_bc_benchmarks.showing.documents import Documents


def main() -> None:
    """All of them, in seconds: nothing is measured here."""
    for path in Documents(Path("docs")).render():
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
