"""An evaluation that can be run again: what it needs, how it runs, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from adyton.errors import BadInput
from adyton.messages import no_such
from adyton_lab.reproduce.tables import Sheet
from adyton_lab.training.engine import Advance

_PLACES = {
    "pythia": "adyton_lab.reproduce.pythia_evaluation",
    "jostle": "adyton_lab.reproduce.jostle_evaluation",
    "naive-bayes": "adyton_lab.reproduce.naive_bayes_evaluation",
    "configuration": "adyton_lab.reproduce.configuration_evaluation",
    "census": "adyton_lab.reproduce.census_evaluation",
    "dawa": "adyton_lab.reproduce.dawa_evaluation",
    "ektelo": "adyton_lab.reproduce.ektelo_evaluation",
}
"""The module of every evaluation; it is imported when it is asked for."""


@dataclass(frozen=True)
class Given:
    """What a user said."""

    data: Path
    """The folder with the public data; of no meaning to evaluations that need none."""
    folder: Path
    """The folder to write to."""
    public: bool
    """Whether somebody said that the data are public."""
    quick: bool
    kept: Path | None
    """The file that keeps what was measured, for evaluations that keep it."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluation of a paper, or of several."""

    name: str
    title: str
    """Of the report."""
    needs: str
    """What the folder with the data holds; empty where nothing is needed."""
    why_public: str
    """A sentence: what it is made for, which is public."""
    about: tuple[str, ...]
    """What a reader of the figures must know, a paragraph each."""
    chapters: Mapping[str, str]
    """The chapters of the report with their headings; tables and pictures name theirs."""
    main: tuple[str, ...]
    """The chapters that are printed, and whose tables the report shows at once."""
    steps: Callable[[Given], int]
    """How many steps :attr:`run` tells of, nearly. What is missing in the folder is refused here, before any work."""
    run: Callable[[Given, Advance], Sequence[Any]]
    """All records: a dataclass for each result."""
    sheets: Callable[[Sequence[Any]], list[Sheet]]
    printed: Callable[[Sequence[Any]], list[Sheet]]
    """The tables for a terminal."""
    pictures: Callable[[Sequence[Any], Given], list[Path]]
    """Draws SVG files, each with a PNG file beside it, and returns their paths."""
    keeps: bool = False
    """Whether what was measured is kept in a file, from which a later run goes on."""
    csv: bool = False
    """Whether the records are also written as a table that spreadsheets read."""


def evaluations() -> tuple[str, ...]:
    """The names of all.

    >>> evaluations()
    ('pythia', 'jostle', 'naive-bayes', 'configuration', 'census', 'dawa', 'ektelo')
    """
    return tuple(_PLACES)


def evaluation_named(name: str) -> Evaluation:
    """The evaluation of that name."""
    if name not in _PLACES:
        raise BadInput(no_such("paper to reproduce", name, evaluations()))
    found = import_module(_PLACES[name]).EVALUATION
    assert isinstance(found, Evaluation)
    return found
