"""Weights are read back by those who will read them: pandas and pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from robust_bc.auditing.weights import write_weights
from robust_bc.errors import RobustBCError
from tests.robust_bc.auditing.audits import make_audit


@pytest.mark.parametrize("name", ["w.parquet", "w.csv"])
def test_every_pair_has_its_weight(name: str, tmp_path: Path) -> None:
    audit = make_audit(np.random.default_rng(0).random(30))
    path = write_weights(audit, tmp_path / "new" / name)
    frame = pandas.read_csv(path) if name.endswith("csv") else pandas.read_parquet(path)
    assert frame.columns.tolist() == ["index", "weight"]
    assert frame["index"].tolist() == list(range(30))
    assert frame["weight"].to_numpy() == pytest.approx(audit.clean, rel=1e-15)
    unsure = write_weights(make_audit([0.5, 0.5], undecided="a tie."), tmp_path / name)
    assert (pandas.read_csv(unsure) if name.endswith("csv") else pandas.read_parquet(unsure))["weight"].eq(1).all()


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"weights are written as \.parquet or \.csv, but the file is"):
        write_weights(make_audit([0.5, 0.5]), tmp_path / "w.xlsx")
    assert not list(tmp_path.iterdir())
