"""Configurations in files: JSON with a digest. A file is checked as a stranger's would be."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import FileKind, digest_of
from adyton.configuration.grid import MOST_POINTS, Parameter, read_interval
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.kernel.instances.private_instances import RELATIONS
from adyton.kernel.instances.utility import UTILITIES, Utility
from adyton.messages import no_such
from adyton.result.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.result.receipt_reading import read_receipt
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.configuration.result import Configuration

KIND = FileKind(
    "adyton configuration",
    1,
    "a configuration",
    "configuration.save and adyton configure --out write them.",
    "Take the file as it was written.",
    (),
)
MOST_DRAWN = 10_000


def body_of(configuration: Configuration) -> dict[str, Any]:
    """Everything, as plain values."""
    parameter, utility = configuration.parameter, configuration.utility
    curve = configuration.curve
    return {
        **KIND.head,
        "family": configuration.family,
        "parameter": list(parameter) if isinstance(parameter, tuple) else parameter,
        "epsilon": as_number(configuration.epsilon),
        "intervals": [list(one) for one in configuration.intervals],
        "points": configuration.points,
        "neighbours": configuration.neighbours,
        "utility": {"name": utility.name, "scale": as_number(utility.scale)},
        "default": configuration.default,
        "record": configuration.receipt.to_plain(),
        "curve": None if curve is None else [list(one) for one in curve],
    }


def to_dict(configuration: Configuration) -> dict[str, Any]:
    """The same with a digest."""
    body = body_of(configuration)
    return {"digest": digest_of(body), **body}


def parts_of(plain: dict[str, Any]) -> dict[str, Any]:
    """The parts of a configuration, by name, each of its own type, that fit together."""
    receipt = read_receipt(part_of(plain, "record"), 1)
    intervals = tuple(read_interval(one) for one in of_kind(list, part_of(plain, "intervals"), "intervals"))
    points, default, curve = (part_of(plain, word) for word in ("points", "default", "curve"))
    if receipt.private and curve is not None:
        raise BadInput("the instances are private, and yet their curve is there.")
    return {
        "family": as_text(part_of(plain, "family"), "family"),
        "parameter": _parameter(part_of(plain, "parameter"), intervals),
        "epsilon": as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total),
        "intervals": intervals,
        "neighbours": _one_of(RELATIONS, part_of(plain, "neighbours"), "relation of neighbours"),
        "utility": _utility(part_of(plain, "utility")),
        "receipt": receipt,
        "points": None if points is None else _count(points),
        "default": None if default is None else _inside(default, intervals[0]),
        "curve": None if curve is None else _curve(curve),
    }


def _parameter(plain: object, intervals: tuple[tuple[float, float], ...]) -> Parameter:
    values = plain if isinstance(plain, list) else [plain]
    if not intervals or len(values) != len(intervals) or isinstance(plain, list) != (len(intervals) > 1):
        raise BadInput("there must be one parameter for each interval.")
    inside = tuple(_inside(value, interval) for value, interval in zip(values, intervals, strict=True))
    return inside if len(inside) > 1 else inside[0]


def _inside(plain: object, interval: tuple[float, float]) -> float:
    value = as_real(plain, "the parameter")
    if not interval[0] <= value <= interval[1]:
        raise BadInput("a parameter does not lie in its interval.")
    return value


def _utility(plain: object) -> Utility:
    name = _one_of(UTILITIES, part_of(plain, "name"), "utility")
    most = Fraction(1) if name == "regret" else Fraction(1 << 64)
    scale = as_amount(part_of(plain, "scale"), "the scale of the utility", most=most)
    return Utility.named(name, clip=scale) if name == "regret" else Utility.named(name, bound=scale)


def _one_of(words: tuple[str, ...], given: object, kind: str) -> str:
    word = as_text(given, kind)
    if word not in words:
        raise BadInput(no_such(kind, word, words))
    return word


def _count(plain: object) -> int:
    count = whole(plain, "points", 1)
    if count > MOST_POINTS:
        raise BadInput(f"a grid may have {MOST_POINTS:,} points.")
    return count


def _curve(plain: object) -> tuple[tuple[float, float], ...]:
    pairs = of_kind(list, plain, "curve")
    if len(pairs) > MOST_DRAWN or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise BadInput("the curve must be a list of pairs.")
    return tuple((as_real(at, "curve"), as_real(value, "curve")) for at, value in pairs)
