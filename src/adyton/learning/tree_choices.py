"""What public tables taught the chosen tree: whether a node stops or splits, and how attributes are chosen."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from adyton.choice.learn_choices import LearnedChoices

FILE = "tree_choices.json"


@cache
def shipped_choices() -> LearnedChoices:
    """What ``adyton train-classifiers --conditionals`` has learnt; the file is checked as a stranger's."""
    with as_file(files("adyton.learning") / "trained" / FILE) as path:
        return LearnedChoices.load(path)
