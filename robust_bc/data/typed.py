"""Plain content, such as JSON has it, as the types that a dataclass declares."""

from __future__ import annotations

import dataclasses
import math
import numbers
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

LARGEST_WHOLE = 2**63 - 1
LONGEST_SHOWN = 60
"""Letters of a value that an error repeats."""

Made = TypeVar("Made")


class MisfitError(Exception):
    """A value is not of its type; the message says which, what was expected and what it is."""


def typed(kind: type[Made], content: object, *, others: bool = False) -> Made:
    """A dataclass filled from a dictionary, field by field; names that it does not know are refused, unless `others`.

    Fields may be words, numbers, truth values, Any, Literals, dataclasses, and lists, tuples, dictionaries and unions
    of these. A field with a default may be left out.
    """
    made: Made = _object(kind, content, "", others)
    return made


def converted(expected: Any, value: object, place: str = "", others: bool = False) -> Any:
    """The value as the expected type: 1 is a float, [64, 64] a tuple, where that is meant."""
    origin, arguments = get_origin(expected), get_args(expected)
    if expected is Any:
        return value
    if dataclasses.is_dataclass(expected):
        return _object(expected, value, place, others)
    if origin in (Union, UnionType):
        return _one_of(arguments, value, place, others)
    if origin is Literal:
        if any(value == choice and type(value) is type(choice) for choice in arguments):
            return value
        raise misfit(place, describe(expected), value)
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            raise misfit(place, describe(expected), value)
        return origin(converted(arguments[0], item, f"{place}[{n}]", others) for n, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise misfit(place, describe(expected), value)
        return {name: converted(arguments[1], item, f"{place}.{name}", others) for name, item in value.items()}
    return _scalar(expected, value, place)


def describe(expected: Any) -> str:
    """A type as a person would say it."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in arguments)
    if origin in (Union, UnionType):
        return " or ".join(describe(each) for each in arguments)
    if origin in (tuple, list):
        many = {int: "whole numbers", float: "finite numbers", str: "words"}.get(arguments[0], "entries")
        return f"a sequence of {many}"
    if origin is dict or dataclasses.is_dataclass(expected):
        return "an object"
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a word", NoneType: "null"}
    return names.get(expected, str(expected))


def misfit(place: str, expected: str, value: object) -> MisfitError:
    """The error about a value; long values are cut."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = "a number beyond all measure"
    if len(shown) > LONGEST_SHOWN:
        shown = f"{shown[:LONGEST_SHOWN]}…"
    return MisfitError(f"'{place.lstrip('.') or 'its content'}' must be {expected}, but it is {shown}")


def _object(kind: Any, value: object, place: str, others: bool) -> Any:
    if not isinstance(value, dict):
        raise misfit(place, "an object", value)
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    for name in value:
        if name not in fields and not others:
            raise MisfitError(f"'{f'{place}.{name}'.lstrip('.')[:LONGEST_SHOWN]}' is not known")
    given = {}
    for name, field in fields.items():
        if name in value:
            given[name] = converted(hints[name], value[name], f"{place}.{name}", others)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise MisfitError(f"'{f'{place}.{name}'.lstrip('.')}' is missing")
    return kind(**given)


def _one_of(kinds: tuple[Any, ...], value: object, place: str, others: bool) -> Any:
    if value is None and NoneType in kinds:
        return None
    wanted = [kind for kind in kinds if kind is not NoneType]
    if len(wanted) == 1:  # its own error says more
        return converted(wanted[0], value, place, others)
    if type(value) in wanted and not isinstance(value, float):  # 1 stays whole where it may be
        return converted(type(value), value, place, others)
    for kind in wanted:
        try:
            return converted(kind, value, place, others)
        except MisfitError:
            continue
    raise misfit(place, " or ".join(describe(kind) for kind in wanted), value)


def _scalar(expected: Any, value: object, place: str) -> Any:
    if expected is bool or isinstance(value, bool):
        if expected is bool and isinstance(value, bool):
            return value
    elif expected is float:
        if isinstance(value, numbers.Real) and (number := _float(value)) is not None:
            return number
    elif expected is int:
        if isinstance(value, numbers.Integral) and abs(int(value)) <= LARGEST_WHOLE:
            return int(value)
    elif expected is str and isinstance(value, str):
        return value
    raise misfit(place, describe(expected), value)


def _float(value: numbers.Real) -> float | None:
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the largest float
        return None
    return number if math.isfinite(number) else None
