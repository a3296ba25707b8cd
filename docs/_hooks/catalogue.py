"""Writes the catalogue of algorithms from the registry, so that it never says anything else than the code."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from generated import filled
from wording import examples, one_line

import adyton as ad
from adyton.errors import BadInput
from adyton.exact import display
from adyton.plans import Plan, plan_type
from adyton.queries import Queries

NAME = "catalogue"
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_SIDES = {1: (8,), 2: (4, 4), 3: (2, 2, 2)}
_RANGES = 4
_COMMON = [field.name for field in dataclasses.fields(Plan)]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the catalogue where a page asks for it."""
    return filled(markdown, NAME, catalogue)


@cache
def catalogue() -> str:
    """A table of all algorithms, the options they share, and a section for each."""
    plans = [plan_type(name) for name in ad.algorithms()]
    rows = [f"| {' | '.join(cells)} |" for cells in map(_row, plans)]
    head = [
        "| name | dimensions | measures what the data suggest | error known before | what it does |",
        "|---|---|---|---|---|",
    ]
    shared = ["## Options that all of them have", "", *_options(Plan, _COMMON)]
    sections = [line for plan in plans for line in _section(plan)]
    return "\n".join([*head, *rows, "", *shared, "", *sections])


def _row(plan: type[Plan]) -> tuple[str, ...]:
    link = f"[`{plan.name}`](#{_anchor(plan)})"
    adapts = "yes" if plan.serves.data_dependent else "no"
    return link, _dimensions(plan), adapts, _error(plan) or "no", _sentence(_description(plan)[0])


def _section(plan: type[Plan]) -> list[str]:
    """Everything about one algorithm."""
    own = [field.name for field in dataclasses.fields(plan) if _differs(plan, field)]
    options = _options(plan, own) if own else ["No options of its own."]
    source = [f"*Source:* {text}" for text in _citation(plan)]
    known = _error(plan) or "no; simulate it on public data like yours"
    facts = f"Dimensions: {_dimensions(plan)}. Error known before anything is spent: {known}."
    paragraphs = [*_description(plan), *source, *examples(inspect.cleandoc(plan.__doc__ or "")), facts]
    text = [line for paragraph in paragraphs for line in (paragraph, "")]
    anchor = "" if _anchor(plan) == plan.name else f" {{ #{_anchor(plan)} }}"
    return [f"## `{plan.name}`{anchor}", "", *text, *options, ""]


def _options(plan: Any, names: list[str]) -> list[str]:
    """A table of options with their defaults and what they mean."""
    said = _field_docstrings(plan)
    defaults = {field.name: field.default for field in dataclasses.fields(plan)}
    rows = [f"| `{name}` | `{_default(defaults[name])}` | {one_line(said.get(name, ''))} |" for name in names]
    return ["| option | if not given | what it does |", "|---|---|---|", *rows]


def _differs(plan: type[Plan], field: dataclasses.Field[Any]) -> bool:
    """Whether an option is the plan's own, or has another default than the one that all plans share."""
    shared = {common.name: common.default for common in dataclasses.fields(Plan)}
    return field.name not in shared or shared[field.name] != field.default


def _field_docstrings(plan: type[Plan]) -> dict[str, str]:
    """What stands below each field in the source, in this class or those it is made from."""
    found: dict[str, str] = {}
    for kind in reversed(plan.__mro__):
        if issubclass(kind, Plan):
            found |= dict(_said_below(kind))
    return found


def _said_below(kind: type) -> Iterator[tuple[str, str]]:
    (body,) = ast.parse(inspect.cleandoc(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    for line, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            yield line.target.id, str(after.value.value)


def _paragraphs(plan: type[Plan]) -> list[str]:
    """The docstring without its examples."""
    text = inspect.cleandoc(plan.__doc__ or "").split("\n\n>>>")[0]
    return [one_line(paragraph) for paragraph in text.split("\n\n")]


def _description(plan: type[Plan]) -> list[str]:
    return [text for text in _paragraphs(plan) if not _YEAR.search(text)]


def _citation(plan: type[Plan]) -> list[str]:
    return [text for text in _paragraphs(plan) if _YEAR.search(text)]


@cache
def _error(plan: type[Plan]) -> str:
    """What the closed form says about itself, on cells and on ranges of small domains of every dimension served."""
    kinds = {kind for workload in _workloads(plan) for kind in _kind(plan, workload)}
    return " or ".join(sorted(kinds))


def _kind(plan: type[Plan], workload: Queries) -> Iterator[str]:
    try:
        yield plan().expected_error(workload, 1).kind
    except BadInput:
        return


def _workloads(plan: type[Plan]) -> Iterator[Queries]:
    for ndim, sides in _SIDES.items():
        if plan.serves.serves(ndim):
            yield ad.workloads.Identity(sides)
            yield ad.workloads.RandomRanges(sides, _RANGES, seed=0)


def _dimensions(plan: type[Plan]) -> str:
    return "any" if plan.serves.dimensions is None else str(plan.serves)


def _default(value: object) -> str:
    return display(value) if isinstance(value, Fraction) else repr(value)


def _anchor(plan: type[Plan]) -> str:
    return plan.name.replace("*", "-star")


def _sentence(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=[.:])\s(?=[A-Z])", text)[0].removesuffix(".")
