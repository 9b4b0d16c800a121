"""Parsing arguments: types that several commands share, and errors in one sentence."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import tyro

from robust_bc.errors import RobustBCError
from robust_bc.system.plain_text import writable

OPTION_INDENT = 5
"""In tyro's boxes options are indented by this much, and their help by more."""

Parsed = TypeVar("Parsed")
Device = Literal["auto", "cpu", "cuda", "mps"]


def parse(target: Callable[..., Parsed], prog: str, args: Sequence[str], description: str | None = None) -> Parsed:
    """Arguments by the target's annotations; what tyro would explain in a box becomes one sentence.

    A function is called only afterwards: what it says and how it ends has nothing to do with its arguments.
    """
    if inspect.isfunction(target):

        @functools.wraps(target)
        def bound(*values: Any, **named: Any) -> Callable[[], Parsed]:
            return functools.partial(target, *values, **named)

        parsed: Parsed = _parse(bound, prog, args, description)()
    else:
        parsed = _parse(target, prog, args, description)
    return parsed


def _parse(target: Callable[..., Any], prog: str, args: Sequence[str], description: str | None) -> Any:
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            return tyro.cli(
                target, prog=prog, args=list(args), description=description, config=(tyro.conf.OmitArgPrefixes,)
            )
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        raise RobustBCError(f"{_sentence(told.getvalue())}; {prog} --help tells the options.") from None


def _sentence(box: str) -> str:
    """The words of tyro's box without its frame: of an option only the name, and no help text."""
    words: list[str] = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines():
        inner = line.strip("│").rstrip()
        text = inner.strip(" ─")
        if text.startswith(("For full helptext", "Argument helptext")):
            break
        if text and line.startswith("│") and len(inner) - len(inner.lstrip()) <= OPTION_INDENT:
            words.append(text.split()[0] if text.startswith("--") else text)
    return " ".join(words).strip(" .:;") or "the arguments cannot be understood"


def _comma_separated(metavar: str, convert: Callable[[str], Any]) -> Any:
    """`--rates 0,0.2,0.4`: one word on the command line, a tuple in Python; doubles count once."""

    def read(words: list[str]) -> tuple[Any, ...]:
        items = [item.strip() for item in words[0].split(",") if item.strip()]
        try:
            return tuple(dict.fromkeys(convert(item) for item in items))
        except ValueError:
            raise RobustBCError(f"'{words[0]}' is not a comma-separated list of numbers.") from None

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [",".join(str(item) for item in value)],
    )


def _pair_count() -> Any:
    """`--pairs 500` or `--pairs all`, which is None in Python."""

    def read(words: list[str]) -> int | None:
        if words[0] == "all":
            return None
        try:
            return int(words[0])
        except ValueError:
            raise RobustBCError(f"--pairs must be a whole number or 'all', but it is '{words[0]}'.") from None

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="N|all",
        instance_from_str=read,
        is_instance=lambda value: value is None or isinstance(value, int),
        str_from_instance=lambda value: ["all" if value is None else str(value)],
    )


def setting(word: str) -> tuple[str, Any]:
    """`cars=2`: a number or true/false where it reads as one, else a word."""
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise RobustBCError(f"'{word}' is not a setting; write NAME=VALUE,NAME=VALUE.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


PairCount = Annotated[int | None, _pair_count()]
Names = Annotated[tuple[str, ...], _comma_separated("NAME,NAME", str)]
EnvironmentSettings = Annotated[tuple[tuple[str, Any], ...], _comma_separated("NAME=VALUE,...", setting)]
Rates = Annotated[tuple[float, ...], _comma_separated("RATE,RATE", float)]


def command_line(command: str, args: Sequence[str]) -> str:
    """What the person typed, for the record."""
    return writable(shlex.join(["robust-bc", *command.split(), *args]))


def not_empty(name: str, values: tuple[Parsed, ...]) -> tuple[Parsed, ...]:
    """The values, unless there are none."""
    if not values:
        raise RobustBCError(f"--{name} is empty; name at least one.")
    return values


def option(args: Sequence[str], name: str, default: str) -> str:
    """The value of one option, before the rest can be parsed."""
    for index, word in enumerate(args):
        if word.startswith(f"--{name}="):
            return word.partition("=")[2]
        if word == f"--{name}":
            if index + 1 == len(args) or args[index + 1].startswith("-"):
                raise RobustBCError(f"--{name} needs a value.")
            return args[index + 1]
    return default
