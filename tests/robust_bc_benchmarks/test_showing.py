"""Tables and pages out of results that are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas
import pytest

from robust_bc.report import page_as_html, table_as_markdown
from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.contenders import is_oracle, with_oracles
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.core.running import Results
from robust_bc_benchmarks.core.summaries import summarise
from robust_bc_benchmarks.showing import audit_tables
from robust_bc_benchmarks.showing.bar import bar_table
from robust_bc_benchmarks.showing.documents import Documents, assumptions
from robust_bc_benchmarks.showing.grids import DRIVING, RETURNS, WHO, grids
from robust_bc_benchmarks.showing.run_pages import make_page
from robust_bc_envs.tasks import CARDS
from tests.robust_bc_benchmarks.known import SIX, results, returns

DOCS = Path(__file__).parent.parent.parent / "docs"


def whole_episodes(task: str) -> tuple[Plan, pandas.DataFrame]:
    """Two kinds at 30 %, a graded mix, and rate 0, where a method is its own oracle."""
    random = CARDS[task].reference
    assert random is not None
    zero = random.random

    def number(key: Key) -> float:
        if is_oracle(key.method) or not key.rate:
            return 1300.0 if key.method == "mlp" and key.rate == 0 else 1000.0
        kept = {("choicenet", "flip"): 0.96, ("choicenet", "uniform"): 0.97, ("mlp", "flip"): 0.5}
        worse = 400.0 if (key.method, key.kind, key.seed) == ("choicenet", "uniform", 0) else 0.0
        return 1000.0 * kept.get((key.method, key.kind), 0.98) - worse + key.seed

    plan = Plan((task,), ("flip", "uniform", "graded"), (0.0, 0.3), ("choicenet", "mlp"), SIX)
    asked = [(place, name, seed) for place in plan.places() for name in with_oracles(plan.methods) for seed in SIX]
    keys = dict.fromkeys(plan.key(*place, name, seed, uneven=("graded",)) for place, name, seed in asked)
    assert Key(task, "graded", None, "mlp+oracle", 0) in keys
    cells = {key: Cell(key, {"return": number(key) + zero, "collision": 0.0}) for key in keys}
    return plan, Results(plan, cells).table()


def test_the_bar_by_hand() -> None:
    plan, table = whole_episodes("pendulum")
    found = bar_table(table, plan.kinds, plan.methods)
    assert [[cell.text for cell in line] for line in found.rows] == [
        # Of uniform, five seeds keep 97 % and one 57 %, and the mlp has 98 %.
        ["choicenet", "2 of 3", "2 of 3", "1 of 3", "1 of 1"],
        ["mlp", "2 of 3", "2 of 3", "–", "–"],
    ]
    few = bar_table(table[table.seed < 3], plan.kinds, plan.methods)
    assert [cell.text for cell in few.rows[0]][3:] == ["–", "–"]
    failed = table[(table.method != "choicenet") | (table.kind != "flip") | (table.seed > 0)]
    assert [cell.text for cell in bar_table(failed, plan.kinds, plan.methods).rows[0]][1:3] == ["2 of 3", "1 of 3"]


def test_pages_of_whole_episodes_come_with_their_results(tmp_path: Path) -> None:
    asked = ("mujoco-episodes.md", "driving-episodes.md")
    assert not Documents(tmp_path).texts(asked)
    (tmp_path / "results").mkdir()
    for name, task in (("mujoco", "pendulum"), ("driving", "lane-driving")):
        plan, table = whole_episodes(task)
        table.to_csv(tmp_path / "results" / f"{name}-episodes.csv", index=False)
        about = json.loads((DOCS / "results" / "mujoco.json").read_text()) | {"methods": plan.methods}
        (tmp_path / "results" / f"{name}-episodes.json").write_text(json.dumps(about))
    texts = Documents(tmp_path).texts(asked)
    assert "| choicenet | 2 of 3 | 2 of 3 | 1 of 3 | 1 of 1 |" in texts["mujoco-episodes.md"]
    assert "| pendulum | 30 % | – | 96 % (96 %) | 91 % (57 %) |" in texts["mujoco-episodes.md"]
    assert "oracle of choicenet" in texts["mujoco-episodes.md"]
    assert WHO in texts["driving-episodes.md"]


def test_the_best_is_strong_and_who_is_told_wins_no_table() -> None:
    rows = [
        ("t", "flip", 0.3, m, "return", v, v, v, v, 1) for m, v in (("mlp", 1), ("trimmed@rate=true", 9), ("l1", 2))
    ]
    columns = ["task", "kind", "rate", "method", "metric", "mean", "low", "high", "worst", "seeds"]
    (grid,) = grids(pandas.DataFrame(rows, columns=columns), RETURNS, paper=False)
    assert grid.best(0.3) == {"l1"}
    assert "| l1 | **2** |" in table_as_markdown(grid.as_table())


def test_the_papers_numbers_stand_beside_ours_in_its_own_setting() -> None:
    plan = Plan(("lane-driving",), ("rollout",), (0.4,), ("mlp",), (0,))
    cells = [Cell(Key("lane-driving", "rollout", 0.4, m, 0), {"collision": 0.1}) for m in ("mlp", "choicenet")]
    summary = summarise(Results(plan, {cell.key: cell for cell in cells}).table(), plan.kinds)
    (ours,), (alone,) = (list(grids(summary, DRIVING, paper)) for paper in (True, False))
    assert ours.as_lines()[-1] == ["paper: ChoiceNet", "0.83 %"]
    assert len(alone.as_lines()) == 2


def test_the_page_of_a_run() -> None:
    found = results(returns, seeds=SIX)
    found.cells[Key("halfcheetah", "flip", 0.3, "mdn", 0)] = Cell(
        Key("halfcheetah", "flip", 0.3, "mdn", 0), failure="training <diverged>."
    )
    summary = summarise(found.table(), found.plan.kinds, {"halfcheetah": 0.0})
    page = page_as_html(make_page("x", "robust-bc x", found, summary, RETURNS, True, {}, lambda results, kind: ()))
    for text in ("halfcheetah, flip", "5 of 6 seeds", "What failed", "training &lt;diverged&gt;", "worse"):
        assert text in page, text


def audit_rows(kind: str, rate: float | None, seed: int, **numbers: float) -> list[tuple[Any, ...]]:
    return [("pendulum", kind, rate, "audit", seed, metric, value) for metric, value in numbers.items()]


def test_the_audits_tables_by_hand() -> None:
    numbers = [
        *audit_rows("clean", 0, 0, true_rate=0, estimated_rate=0.0, false_alarm=0),
        *audit_rows("clean", 0, 1, true_rate=0, estimated_rate=0.2, false_alarm=1),
        *audit_rows("graded", None, 0, spearman=0.9),
    ]
    for seed in range(5):
        numbers += audit_rows("flip", 0.3, seed, auroc=[1, 1, 0.7, 0.9, 0.9][seed], true_rate=0.3, estimated_rate=0.3)
        numbers += audit_rows("flip", 0.3, seed, return_all=-200.0, return_cleaned=-300.0 + seed, return_oracle=-200.0)
    table = pandas.DataFrame(numbers, columns=["task", "kind", "rate", "method", "seed", "metric", "value"])
    glance = audit_tables.at_a_glance(table)["Test tasks"]
    assert glance.to_dict() == {
        "places with a mean AUROC of 0.98 or more": "0 of 1",
        "mixes with a rate within 5 points": "5 of 5",
        "bad pairs that are dropped": "",
        "good pairs that are dropped": "",
        "clean sets with a false alarm": "1 of 2",
        "tasks with a graded Spearman of 0.95 or more": "0 of 1",
        "places that keep the oracle's return with cleaning": "0 of 1",
        "places that keep the oracle's return without cleaning": "1 of 1",
        "places where cleaning does harm": "1",
    }
    auroc = audit_tables.pivot(audit_tables.metric(table, "auroc"), "task", "kind", worst=True)
    assert "| pendulum | 0.9 (0.7) |" in audit_tables.as_markdown(auroc)
    random = CARDS["pendulum"].reference
    assert random is not None
    shares = audit_tables.shares_of_oracle(table)
    assert shares[shares["of"] == "cleaned"].value.tolist() == [
        pytest.approx((-298 - random.random) / (-200 - random.random))
    ]
    (harm,) = audit_tables.harm(table).itertuples()
    assert harm.mean == -98
    assert -100 <= harm.low <= -98 <= harm.high <= -96
    few = table[table.seed < 3]  # an interval of three numbers is their range
    assert audit_tables.harm(few).empty
    assert "places where cleaning does harm" not in audit_tables.at_a_glance(few).index
    assert audit_tables.alarms(table).value.tolist() == [0, 1]


def test_detectors_are_compared_on_the_mixes_that_all_have_seen() -> None:
    cells = [("audit", 0.1), ("audit", 0.3), ("loss", 0.3)]
    table = pandas.DataFrame(
        [("t", "k", r, 0, m) for m, r in cells], columns=["task", "kind", "rate", "seed", "method"]
    )
    assert audit_tables.compared(table).rate.tolist() == [0.3, 0.3]


def test_the_pages_of_docs_are_what_their_results_say() -> None:
    """Whoever changes results or templates runs `make docs`; figures differ by the fonts of a machine."""
    for name, text in Documents(DOCS).texts().items():
        assert (DOCS / name).read_text() == text, f"{name}: run make docs"
    assert "- **choicenet**:" in assumptions()
