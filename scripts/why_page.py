"""Writes docs/why-it-works.md: why ChoiceNet fails where it does, and what the audit does about it (`make docs`).

python scripts/why_page.py [--seeds 3]

The text is scripts/why_it_works.md; numbers in braces are computed here, from mixes of 500 single pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from robust_bc import Demonstrations
from robust_bc.auditing.audits import judging_settings
from robust_bc.auditing.calibration import distances
from robust_bc.auditing.conflict import Court, deal
from robust_bc.auditing.duel import standing_pairs
from robust_bc.auditing.provenance import Futures, similarity
from robust_bc.auditing.results import SUSPECT_BELOW
from robust_bc.auditing.second_look import look_again
from robust_bc.cli.control_source import TeacherSource
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc.files import write_whole
from robust_bc.fitting import fit_fleet
from robust_bc.normalisation import Affine

DOCS = Path("docs")
PAIRS = 500
TASKS = ("halfcheetah", "walker2d")
METHOD = "choicenet"
STEPS = (200, 600, 3000)
NETWORK: dict[str, Any] = {"hidden": (128, 128)}
LEARNERS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "MLP": ("mlp", 1, NETWORK),
    "five MLPs": ("mlp", 5, NETWORK),
    "process, squared exponential": ("gpr", 1, {}),
    "process, wide network": ("gpr", 1, {"kernel": "wide-network"}),
    "and a learned metric": ("gpr", 1, {"kernel": "wide-network", "metric": "learned"}),
}
"""Method, members and settings."""
LEARNER_MIXES, LEARNER_EPISODES = 20, 20
GOOD_COLOUR, BAD_COLOUR, GREY = "#0072b2", "#d55e00", "#767e89"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Arguments:
    """Renew the page on why it works."""

    seeds: int = 3
    """Mixes of each kind."""


def main(arguments: Arguments) -> None:
    """Compute, draw, write."""
    torch.set_num_threads(1)
    source = TeacherSource(PAIRS)
    seeds = range(arguments.seeds)
    mixes: dict[tuple[str, str, float], list[Demonstrations]] = {
        (task, how, rate): [source.demonstrations(task, how, rate, seed) for seed in seeds]
        for task in TASKS
        for how, rate in (
            *(("relabel", 0.3), ("relabel", 0.4), ("rollout", 0.3), ("rollout", 0.4), ("clean", 0.0)),
            *(("flip", 0.4), ("uniform", 0.4)),
        )
    }
    text = (Path(__file__).parent / "why_it_works.md").read_text()
    made = "python scripts/why_page.py" + ("" if arguments == Arguments() else f" --seeds {arguments.seeds}")
    parts: dict[str, Callable[[], str]] = {
        "command": lambda: f"`{made}`",
        "seeds": lambda: str(arguments.seeds),
        "memory": lambda: memory_table(mixes),
        "owners": lambda: owners_table(mixes),
        "rounds": lambda: rounds_table(mixes),
        "futures": lambda: futures_table(mixes),
        "second": lambda: second_table(mixes),
        "duel": lambda: duel_table(mixes),
        "starts": lambda: starts_table(mixes),
        "learners": lambda: learners_table(source),
    }
    for name, make in parts.items():
        text = text.replace("{" + name + "}", make())
        print(f"{name}: done", flush=True)
    draw(mixes).savefig(DOCS / "why-it-works.png", dpi=110)
    write_whole(DOCS / "why-it-works.md", text)
    print(f"wrote {DOCS / 'why-it-works.md'} and its figure")


def looks(mixes: Sequence[Demonstrations], steps: int, seen: bool) -> list[Floats]:
    """Distance of every pair (N,) to what networks would do that saw it, or that did not."""
    jobs, subsets, seeds = [], [], []
    for which, pairs in enumerate(mixes):
        fold = deal(pairs.episodes, (which, 0))
        for part in range(1 if seen else int(fold.max()) + 1):
            jobs.append((which, np.ones(len(pairs), np.bool_) if seen else fold == part))
            subsets.append(pairs if seen else pairs.select(fold != part))
            seeds.append(100 * which + part)
    found = [np.zeros(len(pairs)) for pairs in mixes]
    for (which, rows), policy in zip(jobs, fit_fleet(subsets, METHOD, seeds=seeds, steps=steps), strict=True):
        pairs = mixes[which]
        predicted = policy.predict(pairs.observations[rows])[0]
        found[which][rows] = distances(pairs.actions[rows], predicted, Affine.of(pairs.actions).scale)
    return found


def auroc(mixes: Sequence[Demonstrations], scores: Sequence[Floats]) -> list[float]:
    """How well scores tell corrupt pairs, one number per mix."""
    return [float(roc_auc_score(pairs.corrupt, score)) for pairs, score in zip(mixes, scores, strict=True)]


def memory_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """In-sample against out-of-fold, over the length of training."""
    lines = ["| mix | judged by networks that | " + " | ".join(f"{steps} steps" for steps in STEPS) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(STEPS))
    for task in TASKS:
        for rate in (0.3, 0.4):
            chosen = mixes[task, "relabel", rate]
            for seen, name in ((True, "saw the pair"), (False, "did not")):
                cells = [_several(auroc(chosen, looks(chosen, steps, seen))) for steps in STEPS]
                lines.append(f"| {task} relabel {rate:.0%} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def owners_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """How far good and bad pairs are from the target, where the bad have states of their own and where not."""
    lines = ["| mix | good pairs | bad pairs |", "| --- | --- | --- |"]
    for task in TASKS:
        for how in ("relabel", "rollout"):
            chosen = mixes[task, how, 0.3]
            found = looks(chosen, 600, False)
            medians = [
                np.mean([np.median(score[_labels(pairs) == bad]) for pairs, score in zip(chosen, found, strict=True)])
                for bad in (False, True)
            ]
            lines.append(f"| {task} {how} 30 % | {medians[0]:.2f} | {medians[1]:.2f} |")
    return "\n".join(lines)


def rounds_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """Round by round, without and with a rival, and after a duel."""
    lines = ["| mix | | round 1 | 2 | 3 | 4 | 5 |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for task in TASKS:
        chosen = mixes[task, "relabel", 0.4]
        everyone = [np.ones(len(pairs), np.bool_) for pairs in chosen]
        for rival, duel, name in ((False, False, "neither"), (True, False, "a rival"), (True, True, "a duel, a rival")):
            court = Court(METHOD, judging_settings(METHOD, {}), "cpu", rival, duel)
            judged = court.judge(chosen, everyone, list(range(len(chosen))))
            cells = []
            for number in range(5):
                said = [judgement.opinions[min(number, judgement.rounds - 1)].log_ratio for judgement in judged]
                cells.append(_several(auroc(chosen, said)))
            lines.append(f"| {task} relabel 40 % | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def duel_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """What does not contradict the winner of a duel."""
    lines = ["| mix | of the good pairs stand | of the bad pairs stand |", "| --- | --- | --- |"]
    for task in TASKS:
        for how, rate in (("clean", 0.0), ("relabel", 0.4), ("flip", 0.4), ("uniform", 0.4)):
            shares: list[list[float]] = [[], []]
            for seed, pairs in enumerate(mixes[task, how, rate]):
                stands = standing_pairs(pairs.observations, pairs.actions, seed)
                for bad in (0, 1):
                    if (_labels(pairs) == bad).any():
                        shares[bad].append(float(stands[_labels(pairs) == bad].mean()))
            cells = [
                f"{np.mean(shares[0]):.1%} ({min(shares[0]):.1%})",
                f"{np.mean(shares[1]):.1%} ({max(shares[1]):.1%})" if shares[1] else "-",
            ]
            lines.append(f"| {task} {how} {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def starts_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """ChoiceNet itself: one start, five of which the held-out likelihood chooses one, and one that a duel leads."""
    lines = ["| mix | one start | the best of five by held-out pairs | after a duel |", "| --- | --- | --- | --- |"]
    for task in TASKS:
        for how, rate in (("relabel", 0.3), ("relabel", 0.4), ("flip", 0.4), ("uniform", 0.4)):
            chosen, cells = mixes[task, how, rate], []
            for method, restarts in ((METHOD, 1), (METHOD, 5), ("choicenet-duel", 1)):
                seeds = list(range(len(chosen)))
                policies = fit_fleet(chosen, method, seeds=seeds, restarts=restarts, **NETWORK)
                found = [
                    distances(p.actions, policy.predict(p.observations)[0], Affine.of(p.actions).scale)
                    for p, policy in zip(chosen, policies, strict=True)
                ]
                cells.append(_several(auroc(chosen, found)))
            lines.append(f"| {task} {how} {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def learners_table(source: TeacherSource) -> str:
    """What is learned from the good pairs alone, on mixes that are not in the benchmark."""
    seeds = range(200, 200 + LEARNER_MIXES)
    lines = ["| mix | " + " | ".join(LEARNERS) + " |", "| --- |" + " --- |" * len(LEARNERS)]
    for task in TASKS:
        for rate in (0.1, 0.4):
            good = [source.demonstrations(task, "relabel", rate, seed).clean() for seed in seeds]
            cells = []
            for method, members, settings in LEARNERS.values():
                policies = fit_fleet(good, method, members, list(seeds), "cpu", **settings)
                found = evaluate_fleet(policies, task, LEARNER_EPISODES, names=[str(seed) for seed in seeds])
                returns = [np.mean([row["return"] for row in evaluation.rows]) for evaluation in found]
                cells.append(f"{np.mean(returns):,.0f} ({np.min(returns):,.0f})")
            lines.append(f"| {task}, {len(good[0])} good pairs | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def futures_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """Who is foreign, by where pairs lead and what they do there."""
    lines = ["| mix | foreign | of these corrupt | of all corrupt |", "| --- |" + " --- |" * 3]
    for task in TASKS:
        for how, rate in (("clean", 0.0), ("relabel", 0.3), ("rollout", 0.3), ("rollout", 0.4)):
            chosen = mixes[task, how, rate]
            outside = np.concatenate(_court().foreign(chosen, range(len(chosen))))
            label = np.concatenate([_labels(pairs) for pairs in chosen])
            hits = int((outside & label).sum())
            cells = (
                f"{outside.mean():.1%}",
                f"{hits / outside.sum():.1%}" if outside.any() else "-",
                f"{hits / label.sum():.1%}" if label.any() else "-",
            )
            lines.append(f"| {task} {how} {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def second_table(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> str:
    """What a second look by Gaussian processes changes."""
    lines = ["| mix | | bad pairs kept | good pairs dropped |", "| --- | --- | --- | --- |"]
    for task in TASKS:
        for how in ("relabel", "uniform"):
            chosen = mixes[task, how, 0.4]
            judged = _court().judge(chosen, [np.ones(len(pairs), np.bool_) for pairs in chosen], range(len(chosen)))
            first = [judgement.good for judgement in judged]
            again = [look_again(pairs, good, strangers=False) for pairs, good in zip(chosen, first, strict=True)]
            for name, qualities in (("networks", first), ("and a second look", again)):
                kept = [quality > SUSPECT_BELOW for quality in qualities]
                labels = [_labels(pairs) for pairs in chosen]
                bad = np.mean([(flags & label).sum() for flags, label in zip(kept, labels, strict=True)])
                good = np.mean([(~flags & ~label).sum() for flags, label in zip(kept, labels, strict=True)])
                lines.append(f"| {task} {how} 40 % | {name} | {bad:.1f} of 200 | {good:.1f} of 300 |")
    return "\n".join(lines)


def _court() -> Court:
    return Court(METHOD, judging_settings(METHOD, {}), "cpu")


def draw(mixes: dict[tuple[str, str, float], list[Demonstrations]]) -> Figure:
    """Distances out of fold, and whose futures are alike, for the first mix of each kind."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    for row, task in enumerate(TASKS):
        for column, how in enumerate(("relabel", "rollout")):
            axis = figure.add_subplot(2, 3, 3 * row + column + 1)
            pairs = mixes[task, how, 0.3][0]
            (found,) = looks([pairs], 600, False)
            bins = np.geomspace(0.05, 5, 40).tolist()
            for bad, name, colour in ((False, "good", GOOD_COLOUR), (True, "bad", BAD_COLOUR)):
                axis.hist(np.clip(found[_labels(pairs) == bad], 0.05, 5), bins, color=colour, alpha=0.6, label=name)
            axis.set(xscale="log", title=f"{task}, {how} 30 %", xlabel="distance out of fold", ylabel="pairs")
            axis.legend(frameon=False)
        axis = figure.add_subplot(2, 3, 3 * row + 3)
        pairs = mixes[task, "rollout", 0.3][0]
        futures = Futures.of(pairs)
        assert futures is not None
        alike = similarity(futures.met)
        order = np.argsort(_labels(pairs), kind="stable")
        axis.imshow(alike[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        edge = int((~_labels(pairs)).sum())
        axis.axhline(edge, color=BAD_COLOUR, lw=0.8)
        axis.axvline(edge, color=BAD_COLOUR, lw=0.8)
        axis.set(title="likeness of futures, bad pairs last", xlabel="pair", ylabel="pair")
    return figure


def _labels(pairs: Demonstrations) -> NDArray[np.bool_]:
    return np.zeros(len(pairs), np.bool_) if pairs.corrupt is None else pairs.corrupt


def _several(values: Sequence[float]) -> str:
    """The mean, and the worst in brackets."""
    return f"{np.mean(values):.3f} ({min(values):.3f})"


if __name__ == "__main__":
    main(tyro.cli(Arguments))
