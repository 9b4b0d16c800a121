"""An audit as one page: the verdict, what to run next, who agrees with whom, the episodes, and their worst windows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robust_bc.auditing.judging.agreement import Agreement
from robust_bc.auditing.judging.scaled import Floats
from robust_bc.auditing.results import AuditResults
from robust_bc.auditing.showing.tables import TONES, episode_table, finding_table, pair_table, source_table
from robust_bc.auditing.showing.windows import STEPS, Window, course, worst_windows
from robust_bc.auditing.showing.wording import counted, estimated, next_commands, truth_sentences, verdict_sentence
from robust_bc.auditing.truth import Truth
from robust_bc.report import (
    Block,
    Command,
    Group,
    Lines,
    Matrix,
    MatrixGroup,
    Page,
    Scatter,
    Series,
    Text,
)
from robust_bc.report.matrices import NAMED

ROWS = 50
"""Episodes, pairs or findings in a table."""
DOTS = 200
"""Episodes in the chart of scores; beyond, they could not be told apart."""
WINDOWS = 6
BINS = 20


def audit_page(
    audit: AuditResults,
    folder: Path | None = None,
    command: str | None = None,
    truth: Truth | None = None,
    more: Sequence[Block] = (),
    cut: bool = False,
) -> Page:
    """The page; `folder` is where the audit is kept, and `more` what the caller adds, such as replays."""
    sentence, commands = next_commands(audit, folder, cut)
    blocks: list[Block] = [
        Text("What to do next", [sentence]),
        *map(Command, commands if audit.dataset else ["\n".join(commands)]),
    ]
    if truth is not None:
        blocks.append(Text("How well the audit did", truth_sentences(audit, truth)))
    blocks += _of_pairs(audit) if audit.single_pairs else _of_episodes(audit)
    if audit.sources is not None:
        blocks.append(source_table(audit))
    if audit.findings:
        blocks.append(finding_table(audit, ROWS))
    blocks += more
    what = f"{len(audit)} pairs" if audit.dataset is None else audit.dataset
    return Page(f"Audit of {what}", verdict_sentence(audit), _facts(audit, command), blocks, TONES[audit.verdict])


def _facts(audit: AuditResults, command: str | None) -> dict[str, str]:
    facts = {} if command is None else {"command": command}
    facts["pairs"] = f"{len(audit)} single pairs"
    if not audit.single_pairs:
        facts["pairs"] = f"{len(audit)} in {counted(len(audit.verdicts), 'episode')}"
    if audit.undecided is None:
        facts["bad pairs"] = estimated(audit.rate)
    facts["findings of the checks"] = str(len(audit.findings)) if audit.findings else "none"
    facts["seed"] = str(audit.seed)
    return facts


def _of_pairs(audit: AuditResults) -> list[Block]:
    """Single pairs have no course in time."""
    return [histogram(audit), pair_table(audit, ROWS)]


def _of_episodes(audit: AuditResults) -> list[Block]:
    blocks: list[Block] = []
    if audit.agreement is not None:
        blocks.append(Group("Who agrees with whom", [agreement_matrix(audit, audit.agreement), ranking(audit)]))
    blocks.append(episode_table(audit, ROWS))
    return [*blocks, *_windows(audit)]


def _windows(audit: AuditResults) -> list[Block]:
    """Of bad episodes, and of others with bad pairs; where nothing is bad, the worst all the same."""
    bad = audit.bad_episodes
    found = {"Worst windows": worst_windows(audit, WINDOWS, among=bad if bad.any() else None)}
    others = audit.grouping.sums(audit.bad_pairs.astype(np.float64)) > 0
    if bad.any():
        found["Worst windows of other episodes"] = worst_windows(audit, WINDOWS, among=others & ~bad)
    about = (
        f"The {STEPS} steps in a row whose actions contradict the majority the most (shaded), and some steps before and"
        " after: the action that was shown, and the one that the majority's policy expects in these states. Of each"
        " action the number with the largest error is drawn; actions, steps and episodes are counted from 0."
    )
    return [
        Group(title, [Text("", [about]), *(window_chart(audit, window) for window in windows)])
        for title, windows in found.items()
        if windows
    ]


def agreement_matrix(audit: AuditResults, found: Agreement) -> Matrix:
    """The disagreement of all compared episodes, the majority first."""
    order = found.order
    places = found.compared[order]
    values: list[list[float | None]] = [list(row) for row in found.disagreement[np.ix_(order, order)].tolist()]
    for place, row in enumerate(values):
        row[place] = None  # with itself
    sizes = (("the majority", int(found.majority.sum())), ("the others", int((~found.majority).sum())))
    groups = [MatrixGroup(f"{name}: {counted(size, 'episode')}", size) for name, size in sizes if size]
    bad = [audit.verdicts[place] == "bad" for place in places.tolist()]
    note = (
        "Each cell is a pair of episodes: how much their actions differ in the states that both visited. Episodes that"
        " agree with each other make a block of faint cells."
    )
    if any(bad) and len(bad) <= NAMED:
        note += " The numbers of bad episodes are red."
    episodes = len(audit.verdicts)
    if len(places) < episodes:
        note += f" {len(places)} of {episodes} episodes are shown, drawn at random."
    names = [str(name) for name in audit.grouping.names[places].tolist()]
    label = "difference of the actions, in their deviations"
    return Matrix("Disagreement of the episodes", names, values, groups, label, bad, note)


def ranking(audit: AuditResults) -> Scatter:
    """A dot for each episode, from the worst to the best, by its verdict."""
    rows = audit.episode_rows(DOTS)
    series = []
    for verdict in ("clean", "bad", "cannot tell"):  # in the order of the colours
        mine = [(rank, row.score) for rank, row in enumerate(rows, start=1) if row.verdict == verdict]
        if mine:
            ranks, scores = zip(*mine, strict=True)
            series.append(Series(verdict, ranks, scores))
    total = len(audit.verdicts)
    note = "Each dot is an episode; the higher, the worse."
    if total > len(rows):
        note += f" The {len(rows)} worst of {total} episodes are shown."
    return Scatter("How far each episode is from the majority", "rank, worst first", "score", series, note)


def window_chart(audit: AuditResults, window: Window) -> Lines:
    """The action over time, shown and expected."""
    drawn = course(audit, window)
    steps = drawn.steps.astype(np.float64).tolist()
    series = [
        Series("shown", steps, drawn.shown.tolist()),
        Series("expected", steps, drawn.expected.tolist(), dashed=True),
    ]
    source = "" if window.source is None else f" of {window.source}"
    verdict = audit.verdicts[int(np.searchsorted(audit.grouping.names, window.episode))]
    return Lines(
        f"Episode {window.episode}{source}, steps {window.first} to {window.last}",
        "step",
        f"action {window.action}",
        series,
        f"Off by {window.error:.2g} deviations of this action on average. The episode is {_said(verdict)}.",
        marked=(float(window.first), float(window.last)),
    )


def _said(verdict: str) -> str:
    return "one that cannot be told" if verdict == "cannot tell" else verdict


def histogram(audit: AuditResults) -> Lines:
    """How many pairs have which probability of being clean, as an outline for each verdict."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    doubt = audit.settings.doubt
    clean: Floats = audit.clean
    sides = (
        ("clean", clean > 1 - doubt),
        ("bad", clean < doubt),
        ("cannot tell", (clean >= doubt) & (clean <= 1 - doubt)),
    )
    series = []
    for name, mine in sides:
        if not mine.any():
            continue
        counts, _ = np.histogram(clean[mine], edges)
        drawn = np.flatnonzero(counts)
        first, last = int(drawn[0]), int(drawn[-1]) + 1
        x = np.repeat(edges[first : last + 1], 2)
        y = np.concatenate([[0.0], np.repeat(counts[first:last], 2), [0.0]])
        series.append(Series(name, x.tolist(), y.tolist()))
    limits = f"Below {doubt:g} a pair is bad, above {1 - doubt:g} clean; between, it cannot be told."
    note = f"Pairs in {BINS} steps. {limits}"
    return Lines("Probability of being clean", "P(clean)", "pairs", series, note)
