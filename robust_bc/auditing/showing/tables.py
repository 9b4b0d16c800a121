"""The tables of an audit's page: sources, episodes, findings of the checks, and single pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.results import AuditResults, EpisodeRow, Verdict
from robust_bc.auditing.showing.windows import action_errors
from robust_bc.auditing.showing.wording import counted, reason
from robust_bc.report import Cell, Column, Table
from robust_bc.report.blocks import Tone

TONES: dict[Verdict, Tone] = {"bad": "bad", "cannot tell": "unsure", "clean": "good"}
ALL = "all"


def source_table(audit: AuditResults) -> Table:
    """A row for each source, worst first."""
    columns = [Column("source"), Column("P(clean)", "number", "high")]
    columns += [Column(name, "number") for name in ("episodes", "bad episodes", "pairs", "bad pairs")]
    if audit.single_pairs:  # an episode is a pair
        columns = [column for column in columns if "episodes" not in column.name]
    rows = []
    for row in audit.source_rows():
        episodes = [] if audit.single_pairs else [count(row.episodes), count(row.bad_episodes)]
        source = Cell(row.source, row.source)
        rows.append([source, estimate_cell(row.clean), *episodes, count(row.pairs), count(row.bad_pairs)])
    note = "P(clean): the mean probability of a pair to be clean, with its 95 % interval, by drawing whole episodes."
    return Table("Sources", columns, rows, note)


def episode_table(audit: AuditResults, most: int) -> Table:
    """A row for each of the worst episodes."""
    rows = audit.episode_rows(most)
    columns = [Column("episode"), *_source_column(audit), Column("verdict"), Column("P(clean)", "number", "high")]
    columns += [Column("score", "number", "low"), Column("conflict", "number", "low"), Column("known", "number")]
    columns += [Column("pairs", "number"), Column("worst step", "number"), Column("why")]
    note = (
        "P(clean): the probability that the episode is clean. Score: how far it is from the majority; the higher, the"
        " worse. Conflict: the mean probability that its actions are not the majority's. Known: how much of the actions"
        " the majority's policy explains in its states."
        f" {_rest(audit, rows)}"
    )
    return Table("Episodes, worst first", columns, [_episode(audit, row) for row in rows], note.strip())


def _episode(audit: AuditResults, row: EpisodeRow) -> list[Cell]:
    why = reason(audit, row)
    return [
        Cell(str(row.episode), float(row.episode)),
        *([] if row.source is None else [Cell(row.source, row.source)]),
        Cell(row.verdict, row.clean, tone=TONES[row.verdict]),
        share(row.clean),
        Cell(f"{row.score:.2f}".replace("-", "−"), row.score),
        share(row.conflict),
        share(row.known),
        count(row.pairs),
        count(row.worst_step),
        Cell(why, why),
    ]


def _rest(audit: AuditResults, shown: Sequence[EpisodeRow]) -> str:
    more = len(audit.verdicts) - len(shown)
    if not more:
        return ""
    bad = audit.verdicts.count("bad") - sum(row.verdict == "bad" for row in shown)
    return f"{counted(more, 'more episode')} not shown, {bad or 'none'} of them bad: `load_audit(folder).to_frame()`."


def finding_table(audit: AuditResults, most: int) -> Table:
    """A row for each finding of the checks; those that spoil an episode first."""
    rows = [
        [
            Cell(finding.check, finding.check),
            Cell(ALL, -1.0) if finding.episode is None else Cell(str(finding.episode), float(finding.episode)),
            Cell(ALL, -1.0) if finding.step is None else count(finding.step),
            Cell("bad" if finding.spoils else "look at it", tone="bad" if finding.spoils else "unsure"),
            Cell(finding.what, finding.what),
        ]
        for finding in sorted(audit.findings, key=lambda finding: not finding.spoils)[:most]
    ]
    columns = [Column("check"), Column("episode", "number"), Column("step", "number"), Column("so"), Column("what")]
    more = len(audit.findings) - len(rows)
    rest = f" {counted(more, 'more finding')} not shown; all are in `audit.json`." if more else ""
    note = f"Checks look for faults of the recording itself, each by a fixed rule. Steps are counted from 0.{rest}"
    return Table("What the checks found", columns, rows, note)


def pair_table(audit: AuditResults, most: int) -> Table:
    """A row for each of the worst pairs, of a dataset of single pairs: its action beside the expected one."""
    columns = [Column("pair"), *_source_column(audit), Column("verdict"), Column("P(clean)", "number", "high")]
    columns += [Column("action", "number"), Column("shown", "number"), Column("expected", "number"), Column("why")]
    rows = []
    for row in audit.episode_rows(most):
        (pair,) = audit.grouping.pairs_of(int(np.searchsorted(audit.grouping.names, row.episode))).tolist()
        action = int(np.argmax(action_errors(audit, np.array([pair]))))
        why = reason(audit, row)
        rows.append(
            [
                Cell(str(pair), float(pair)),
                *([] if row.source is None else [Cell(row.source, row.source)]),
                Cell(row.verdict, row.clean, tone=TONES[row.verdict]),
                share(row.clean),
                count(action),
                number(float(audit.shown[pair, action])),
                number(float(audit.expected[pair, action])),
                Cell(why, why),
            ]
        )
    more = len(audit) - len(rows)
    rest = f" {counted(more, 'more pair')} not shown: `load_audit(folder).to_frame()`." if more else ""
    note = (
        "P(clean): the probability that the pair is clean. Of each action, the number that is farthest from what the"
        f" majority would do there; actions and pairs are counted from 0.{rest}"
    )
    return Table("Pairs, worst first", columns, rows, note)


def _source_column(audit: AuditResults) -> list[Column]:
    return [] if audit.sources is None else [Column("source")]


def estimate_cell(estimate: Estimate) -> Cell:
    """A share with its interval below."""
    return Cell(f"{estimate.value:.2f}", estimate.value, f"[{estimate.low:.2f}, {estimate.high:.2f}]")


def share(value: float) -> Cell:
    """A number between 0 and 1."""
    return Cell(f"{value:.2f}", value)


def number(value: float) -> Cell:
    """Any number, to four digits."""
    return Cell(f"{value:.4g}".replace("-", "−"), value)


def count(many: int) -> Cell:
    """A whole number."""
    return Cell(str(many), float(many))
