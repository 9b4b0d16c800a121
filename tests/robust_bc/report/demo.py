"""A page with everything on it: made up, but such as a benchmark writes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robust_bc.report import (
    Cell,
    Column,
    Command,
    Group,
    Lines,
    Matrix,
    MatrixGroup,
    Page,
    Replay,
    ReplayEpisode,
    Scatter,
    Series,
    Table,
    Text,
)
from robust_bc.report.blocks import Tone

RATES = [0.0, 0.1, 0.2, 0.3, 0.4]
LOSSES = {"Oracle": 0.03, "ChoiceNet": 0.22, "MDN": 0.9, "MLP": 2.2}
LENGTH, LANE, DT = 200.0, 3.5, 0.1


def demo_page() -> Page:
    """Two tasks, a learning curve, ρ over the data, and driving on two roads."""
    generator = np.random.default_rng(4)
    command = "robust-bc benchmark mujoco --tasks halfcheetah,walker2d --kinds relabel,flip --seeds 10 --episodes 100"
    return Page(
        "Control from demonstrations of mixed quality",
        "With 30 % of the labels wrong, ChoiceNet keeps 86 % of what the same network reaches on the clean pairs "
        "alone; the plain MLP keeps 9 %. Intervals are 95 % bootstrap intervals over 10 paired seeds.",
        {
            "command": command,
            "machine": "2 cores, AMD EPYC, no GPU",
            "date": "2026-11-16",
            "seeds": "0 to 9, paired",
            "duration": "2 h 41 min",
            "version": "robust-bc 0.1.0",
        },
        [
            Text(
                "How to read this page",
                [
                    "The oracle is the same network trained on the clean pairs of the same mix only: the limit that a "
                    "robust method can hope for. Every method has the same trunk, optimiser and budget.",
                    "A mark `relabel` means that a corrupt pair is a state of the expert with the action that the "
                    "adversary would take there; `flip` negates the expert's own action.",
                ],
            ),
            Command(command),
            _task("HalfCheetah-v5", 5900.0, generator),
            _task("Walker2d-v5", 3860.0, generator),
            Group("What ChoiceNet thinks of the pairs", [_correlation(generator), _learning(generator)]),
            Group("Driving", [_driving_table(), straight_replay(), curved_replay()]),
            Group("Who agrees with whom", [agreeing(6, 3), _verdicts()]),
        ],
    )


def agreeing(majority: int, others: int) -> Matrix:
    """Two groups that agree within and not with each other."""
    count = majority + others
    same = np.equal.outer(np.arange(count) < majority, np.arange(count) < majority)
    values: list[list[float | None]] = np.where(same, 0.2, 0.8).tolist()
    for place in range(count):
        values[place][place] = None
    groups = [MatrixGroup("majority", majority), MatrixGroup("others", others)]
    suspects = [place >= majority for place in range(count)]
    names = [f"episode {place}" for place in range(count)]
    return Matrix("Disagreement", names, values, groups, "difference", suspects, "Two groups.")


def _verdicts() -> Table:
    tones: list[Tone] = ["bad", "unsure", "good"]
    rows = [[Cell(str(place)), Cell(tone, tone, tone=tone)] for place, tone in enumerate(tones)]
    return Table("Verdicts", [Column("episode"), Column("verdict")], rows)


def _task(task: str, expert: float, generator: np.random.Generator) -> Group:
    charts = [_returns(how, expert, generator) for how in ("relabel", "flip")]
    rows = []
    for index, method in enumerate(LOSSES):
        cells = [Cell(method, method)]
        for rate_index, rate in enumerate(RATES):
            series = charts[0].series[index]
            assert series.low is not None
            assert series.high is not None
            mean, low, high = (values[rate_index] for values in (series.y, series.low, series.high))
            strong = method == ("MLP" if rate == 0 else "ChoiceNet")
            cells.append(Cell(_whole(mean), mean, f"[{_whole(low)}, {_whole(high)}]", strong))
        rows.append(cells)
    rows.append([Cell("Expert", "Expert"), *(Cell(_whole(expert), expert) for _ in RATES)])
    table = Table(
        f"Return on {task}, relabelled pairs",
        [Column("method"), *(Column(f"{rate:.0%}", "number", "high") for rate in RATES)],
        rows,
        "Mean return of 100 episodes, and under it the interval over 10 seeds. The best learner of a column is marked.",
    )
    return Group(task, [table, *charts])


def _returns(how: str, expert: float, generator: np.random.Generator) -> Lines:
    lines = []
    for method, loss in LOSSES.items():
        loss = loss * (1.0 if how == "relabel" else 1.2)
        mean = [expert * (0.93 - loss * rate ** (1.6 if method == "ChoiceNet" else 1.1)) for rate in RATES]
        mean = [value + float(generator.normal(0, 0.01 * expert)) for value in mean]
        spread = [expert * (0.02 + 0.1 * loss * rate) for rate in RATES]
        low = [a - b for a, b in zip(mean, spread, strict=True)]
        high = [a + b for a, b in zip(mean, spread, strict=True)]
        lines.append(Series(method, RATES, mean, low, high, dashed=method == "Oracle"))
    lines.append(Series("Expert", [0.0, 0.4], [expert, expert], dashed=True))
    return Lines(f"Return with pairs corrupted by {how}", "corrupt pairs", "return", lines, percent_x=True)


def _correlation(generator: np.random.Generator) -> Scatter:
    clean, corrupt = np.clip(generator.normal(0.93, 0.05, 350), -1, 1), np.clip(generator.normal(-0.3, 0.3, 150), -1, 1)
    places = generator.permutation(500)
    return Scatter(
        "Correlation ρ over the data",
        "pair",
        "ρ of the likeliest mixture",
        [
            Series("clean pairs", sorted(places[:350].tolist()), clean.tolist()),
            Series("corrupt pairs", sorted(places[350:].tolist()), corrupt.tolist()),
        ],
        "Which pairs are corrupt was hidden from the learner.",
    )


def _learning(generator: np.random.Generator) -> Lines:
    steps = np.arange(0, 3001, 50)
    series = []
    for method, floor in (("ChoiceNet", 0.12), ("MDN", 0.2), ("MLP", 0.41)):
        curve = floor + (1.1 - floor) * np.exp(-steps / 420) + generator.normal(0, 0.008, len(steps))
        series.append(Series(method, steps.tolist(), curve.tolist(), (curve - 0.03).tolist(), (curve + 0.03).tolist()))
    return Lines("Error on held-out pairs while training", "steps", "mean squared error", series)


def _driving_table() -> Table:
    rows = [
        ("ChoiceNet", 0.004, 0.21, 0.05),
        ("MDN", 0.047, 0.48, 0.1),
        ("MLP", 0.182, 0.71, 0.1),
        ("Oracle", 0.003, 0.2, 0.05),
    ]
    cells = [
        [
            Cell(name, name),
            Cell(f"{100 * rate:.1f} %", rate, f"[{100 * rate * 0.6:.1f}, {140 * rate:.1f}]", name == "ChoiceNet"),
            Cell(f"{rms:.2f} m", rms, f"± {wide}", name == "ChoiceNet"),
            Cell("990", 990) if name == "MDN" else Cell("1,000", 1000),
        ]
        for name, rate, rms, wide in rows
    ]
    cells.append([Cell("No learning", "No learning"), Cell("–"), Cell("–"), Cell("0", 0)])
    head = [
        Column("policy"),
        Column("collisions", "number", "low"),
        Column("RMS lane deviation", "number", "low"),
        Column("episodes", "number"),
    ]
    return Table("Collisions and lane keeping, 30 % careless demonstrations", head, cells)


def straight_replay() -> Replay:
    """Three policies in the same three episodes on a straight road."""
    road = {
        "lanes": 3,
        "lane_width": LANE,
        "dt": DT,
        "pieces": [{"start": [0, 0, 0], "length": LENGTH, "curvature": 0}],
    }
    cars = [
        [35.0, 0.0, 0.0],
        [62.0, -LANE, 0.0],
        [88.0, LANE, 0.0],
        [118.0, 0.0, 0.0],
        [150.0, LANE, 0.0],
        [176, 0.0, 0.0],
    ]
    episodes = [
        drive(policy, str(number), [[x + 3 * number, y, h] for x, y, h in cars], sway, crash)
        for policy, sway, crash in (("ChoiceNet", 0.1, None), ("MDN", 0.35, None), ("MLP", 0.7, 112.0))
        for number in (1, 2, 3)
    ]
    return Replay(
        "Driving on a straight road", road, episodes, "Space plays and pauses, the arrow keys move by one step."
    )


def drive(policy: str, episode: str, cars: list[list[float]], sway: float, crash: float | None) -> ReplayEpisode:
    """From lane to lane around the cars, or straight on into one."""
    poses, x, y = [], 0.0, 0.0
    until = crash if crash is not None else LENGTH
    lane = 0.0
    while x < until:
        free = [
            side
            for side in (0.0, LANE, -LANE)
            if not any(-8 < car[0] - x < 26 and abs(car[1] - side) < 1.0 for car in cars)
        ]
        if crash is None or x < crash - 35:
            lane = min(free or [lane], key=lambda side: abs(side - lane) + 0.1 * abs(side - sway))
        heading = max(-0.3, min(0.3, 0.14 * (lane + sway * math.sin(x / 7 + sway) - y)))
        poses.append([x, y, heading])
        x, y = x + 10 * DT * math.cos(heading), y + 10 * DT * math.sin(heading)
    outcome = "collision" if crash is not None else "success"
    facts = {"distance": f"{x:.0f} m", "RMS lane deviation": f"{0.1 + 0.7 * sway:.2f} m", "seed": f"70{episode}"}
    return ReplayEpisode(policy, episode, cars, poses, outcome, facts)


def curved_replay() -> Replay:
    """One policy on a road with two turns."""
    radius = 15.0
    quarter = radius * math.pi / 2
    pieces: list[dict[str, Any]] = [
        {"start": [0, 0, 0], "length": 40.0, "curvature": 0.0},
        {"start": [40, 0, 0], "length": quarter, "curvature": 1 / radius},
        {"start": [55, 15, math.pi / 2], "length": 20.0, "curvature": 0.0},
        {"start": [55, 35, math.pi / 2], "length": quarter, "curvature": -1 / radius},
        {"start": [70, 50, 0], "length": 50.0, "curvature": 0.0},
    ]
    poses = []
    for piece in pieces:
        x, y, heading = piece["start"]
        for along in np.arange(0, piece["length"], 1.0):
            turn = piece["curvature"] * along
            ahead = math.sin(turn) * radius if turn else along
            left = (1 - math.cos(turn)) * radius * math.copysign(1, turn) if turn else 0.0
            cosine, sine = math.cos(heading), math.sin(heading)
            poses.append([x + cosine * ahead - sine * left, y + sine * ahead + cosine * left, heading + turn])
    road = {"lanes": 3, "lane_width": LANE, "dt": DT, "pieces": pieces}
    cars = [[25.0, LANE, 0.0], [51.5, 24.0, math.pi / 2], [95.0, 46.5, 0.0]]
    return Replay(
        "Transfer to a curved road", road, [ReplayEpisode("ChoiceNet", "1", cars, poses, "success", {"seed": "901"})]
    )


def _whole(value: float | None) -> str:
    assert value is not None
    return f"{value:,.0f}".replace("-", "−")
