"""Argument types that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import tyro

from robust_bc.errors import RobustBCError

Parsed = TypeVar("Parsed")
Device = Literal["auto", "cpu", "cuda", "mps"]


def _comma_separated(metavar: str, convert: Callable[[str], Any]) -> Any:
    """`--rates 0,0.2,0.4`: one word on the command line, a tuple in Python."""

    def parse(words: list[str]) -> tuple[Any, ...]:
        items = [item.strip() for item in words[0].split(",") if item.strip()]
        try:
            return tuple(convert(item) for item in items)
        except ValueError:
            raise RobustBCError(f"'{words[0]}' is not a comma-separated list of numbers.") from None

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=parse,
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [",".join(str(item) for item in value)],
    )


Names = Annotated[tuple[str, ...], _comma_separated("NAME,NAME", str)]
Rates = Annotated[tuple[float, ...], _comma_separated("RATE,RATE", float)]


def not_empty(name: str, values: tuple[Parsed, ...]) -> tuple[Parsed, ...]:
    """The values, unless there are none."""
    if not values:
        raise RobustBCError(f"--{name} is empty; name at least one.")
    return values
