"""`robust-bc methods`: what can be fitted, and what each method assumes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import tyro

from robust_bc.cli.console import OUTPUT, print_json
from robust_bc.methods import get_method, method_names


def methods(json: bool = False) -> None:
    """List the methods that can be fitted.

    Example: robust-bc methods

    Args:
        json: Print one JSON object, with every setting and its default.
    """
    known = [get_method(name) for name in method_names()]
    if json:
        print_json(
            {
                "methods": [
                    {
                        "name": method.name,
                        "summary": method.summary,
                        "settings": dataclasses.asdict(method.settings_type()),
                    }
                    for method in known
                ]
            }
        )
        return
    width = max(len(method.name) for method in known)
    for method in known:
        OUTPUT.print(f"[bold]{method.name:<{width}}[/bold]  {method.summary}", highlight=False, soft_wrap=True)
    OUTPUT.print("\nSettings of one: robust-bc train --method NAME --help", highlight=False)


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    tyro.cli(methods, prog="robust-bc methods", args=args)
