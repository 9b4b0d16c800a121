"""An audit in a few sentences, all of them computed from its numbers."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path

from robust_bc.auditing.results import AuditResults, EpisodeRow, Estimate
from robust_bc.auditing.truth import Truth
from robust_bc.system.plain_text import visible

COLUMNS = 80
"""Width of what `print(audit)` shows."""
ROWS = 10
LONGEST_SOURCE = 16
CLEANED = "mine/clean-v0"
"""Id of the dataset in the command that is proposed."""
RUN = "runs/mine"
ELSEWHERE = "One by one, pairs from states where nobody else has been cannot be told; whole episodes may be."
"""What an audit of single pairs cannot say."""


def percent(share: float) -> str:
    """30 %, or 2.5 %."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def estimated(rate: Estimate) -> str:
    """30 % (surely 25 %, at most 35 %), or 30 % if there is no doubt."""
    value, low, high = (percent(share) for share in (rate.value, rate.low, rate.high))
    return value if low == high else f"{value} (surely {low}, at most {high})"


def counted(number: int, what: str) -> str:
    """1 episode, or 3 episodes."""
    return f"{number} {what}{'s' * (number != 1)}"


def units(audit: AuditResults) -> str:
    """What is judged one by one."""
    return "pair" if audit.single_pairs else "episode"


def verdict_sentence(audit: AuditResults) -> str:
    """The verdict."""
    unit, total = units(audit), len(audit.verdicts)
    bad, unsure = audit.verdicts.count("bad"), audit.verdicts.count("cannot tell")
    if audit.undecided is not None:
        faults = f" The checks alone found {bad} of {counted(total, unit)} to be bad." if bad else ""
        return f"The audit cannot tell good from bad: {audit.undecided}{faults}"
    said = f"{bad} of {counted(total, unit)} {'is' if bad == 1 else 'are'} bad" if bad else f"No {unit} is bad"
    singles = int((audit.bad_pairs & ~audit.bad_episodes[audit.grouping.places]).sum())
    if singles:
        pairs, are = counted(singles, "single pair"), "is" if singles == 1 else "are"
        said += f", and so {are} {pairs} of the others" if bad else f", but {pairs} {are}"
    rate = f"an estimated {percent(audit.rate.value)} of the pairs are bad{estimated(audit.rate).partition(' %')[2]}"
    doubt = f" For {counted(unsure, unit)} the audit cannot tell." if unsure else ""
    return f"{said}; {rate}.{doubt}{f' {ELSEWHERE}' if audit.by_pair else ''}"


def next_commands(audit: AuditResults, folder: Path | None = None, cut: bool = False) -> tuple[str, list[str]]:
    """What to do next, in a sentence, and the commands for it; Python's, if there is no dataset."""
    dropped = int((~audit.keep(cut)).sum())
    told = None if audit.dataset is None else shlex.quote(audit.dataset)
    if not dropped:
        sentence = audit.why_kept(cut) or "Nothing has to be left out."
        train = f"robust-bc train --dataset {told} --out {RUN}"
        return f"{sentence} To learn from all of it:", [train if told else "policy = robust_bc.fit(demonstrations)"]
    left = f"Leave out {counted(dropped, 'pair')} and learn from the other {len(audit) - dropped}"
    if told is None:
        kept = f"kept = demonstrations.select(audit.keep({'cut=True' * cut}))"
        return f"{left}:", [kept, "policy = robust_bc.fit(kept, clean=False)"]
    place = "AUDIT" if folder is None else shlex.quote(str(folder))
    return f"{left}, as a new dataset or in one step:", [
        f"robust-bc filter --dataset {told} --audit {place}{' --cut' * cut} --out {CLEANED}",
        f"robust-bc train --clean --dataset {told} --out {RUN}",
    ]


def truth_sentences(audit: AuditResults, truth: Truth) -> list[str]:
    """How well the audit did, for a dataset with hidden labels."""
    miss = 100 * (audit.rate.value - truth.rate)
    inside = "inside" if audit.rate.low <= truth.rate <= audit.rate.high else "outside"
    sentences = [
        f"By the hidden labels, {percent(truth.rate)} of the pairs are corrupt: the estimate is {abs(miss):.1f} points"
        f" too {'high' if miss > 0 else 'low'}, and the truth is {inside} its interval."
        if round(abs(miss), 1)
        else f"By the hidden labels, {percent(truth.rate)} of the pairs are corrupt, just as estimated.",
        _told_apart("pairs", truth.pair_auroc, truth.pair_average_precision),
    ]
    if not audit.single_pairs:
        sentences.append(_told_apart("episodes", truth.episode_auroc, truth.episode_average_precision))
    if truth.episode_spearman is not None:
        sentences.append(
            "The scores of the episodes follow the noise of their demonstrators with a rank correlation (Spearman) of"
            f" {truth.episode_spearman:.3f}."
        )
    return sentences


def _told_apart(what: str, auroc: float | None, precision: float | None) -> str:
    if auroc is None or precision is None:
        return f"All {what} are of one kind, so there is nothing to tell apart."
    return f"Corrupt {what} are told from clean ones with an AUROC of {auroc:.3f}, average precision {precision:.3f}."


def reason(audit: AuditResults, row: EpisodeRow) -> str:
    """Why an episode is not clean, in a few words; nothing if it is, or if no episode can be told."""
    if row.findings:
        return "; ".join(row.findings)
    if row.verdict == "clean" or audit.undecided is not None:
        return ""
    if row.verdict == "bad":
        return "contradicts the majority"
    return "may contradict the majority"


def short_table(audit: AuditResults) -> str:
    """The verdict in a sentence and the worst episodes, or pairs, in a few lines of 80 columns."""
    rows = audit.episode_rows(ROWS)
    with_source, with_pairs = audit.sources is not None, not audit.single_pairs
    head = [units(audit), *["source"] * with_source, *["pairs"] * with_pairs, "verdict", "P(clean)", "why"]
    lines = [
        [
            str(row.episode),
            *[_cut(visible(str(row.source)), LONGEST_SOURCE)] * with_source,
            *[str(row.pairs)] * with_pairs,
            row.verdict,
            f"{row.clean:.2f}",
            visible(reason(audit, row)),
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    numbers = {"pairs", "P(clean)"}
    text = [
        "  ".join(
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for cell, width, name in zip(line, widths, head, strict=True)
        )
        for line in [head, *lines]
    ]
    more = len(audit.verdicts) - len(rows)
    rest = [f"and {more} more, none of them worse"] if more else []
    table = [_cut(line.rstrip(), COLUMNS) for line in text]
    return "\n".join([*textwrap.wrap(visible(verdict_sentence(audit)), COLUMNS), "", *table, *rest])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
