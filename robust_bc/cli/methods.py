"""`robust-bc methods`: what can be fitted, and what each method assumes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import OUTPUT, print_json, show
from robust_bc.methods import get_method, method_names


def methods(json: bool = False) -> None:
    """List the methods that can be fitted.

    Example: robust-bc methods

    Args:
        json: Print one JSON object, with every setting and its default.
    """
    known = [get_method(name) for name in method_names()]
    if json:
        described = [
            {"name": m.name, "summary": m.summary, "when": m.when, "settings": dataclasses.asdict(m.settings_type())}
            for m in known
        ]
        print_json({"methods": described})
        return
    width = max(len(method.name) for method in known)
    for method in known:
        OUTPUT.print(
            f"[bold]{method.name:<{width}}[/bold]  {method.summary}; [italic]use it {method.when}[/italic]",
            highlight=False,
            soft_wrap=True,
        )
    show("")
    show("Settings of one: robust-bc train --method NAME --help")


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    parse(methods, "robust-bc methods", args)
