"""Weights of pairs as a file for other people's learners: `index` and `weight`, as Parquet or as CSV."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from robust_bc.auditing.results import AuditResults
from robust_bc.errors import RobustBCError
from robust_bc.system.extras import extras_named
from robust_bc.system.files import write_whole

ENDINGS = (".parquet", ".csv")


def check_weights_path(path: Path) -> Path:
    """The path itself, unless nobody could tell what to write there."""
    if path.suffix not in ENDINGS:
        raise RobustBCError(f"weights are written as {' or '.join(ENDINGS)}, but the file is '{path}'.")
    return path


def write_weights(audit: AuditResults, path: Path) -> Path:
    """A row for each pair, in the order of the demonstrations: its index and `audit.weights()`."""
    check_weights_path(path)
    content = io.BytesIO()
    if path.suffix == ".csv":
        with extras_named():
            import pandas

        frame = pandas.DataFrame({"index": np.arange(len(audit)), "weight": audit.weights()})
        frame.to_csv(content, index=False)
    else:
        with extras_named():
            import pyarrow
            from pyarrow import parquet

        parquet.write_table(pyarrow.table({"index": np.arange(len(audit)), "weight": audit.weights()}), content)
    write_whole(path, content.getvalue())
    return path
