"""A tree as it is told and drawn: questions, answers, and how many rows of each class were counted, with noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outline:
    """A node of a tree, and all that is below it."""

    counts: tuple[float, ...]
    """The noisy number of rows of each class; some may be negative."""
    question: str | None = None
    """The attribute that is asked for here; None at a leaf."""
    branches: tuple[tuple[str, Outline], ...] = ()
    """Each answer, in words, and what follows it."""

    @property
    def leaves(self) -> int:
        """How many leaves there are below, itself included."""
        return sum(branch.leaves for _, branch in self.branches) if self.branches else 1

    @property
    def rows(self) -> float:
        """How many rows were counted here, with noise; never less than 0."""
        return max(0.0, sum(self.counts))

    @property
    def shares(self) -> tuple[float, ...]:
        """How frequent each class is here; all alike where nothing is left above the noise."""
        positive = [max(0.0, count) for count in self.counts]
        total = sum(positive)
        return tuple(count / total if total else 1 / len(positive) for count in positive)

    @property
    def best(self) -> int:
        """The number of the most frequent class; among equals, the first."""
        return max(range(len(self.counts)), key=lambda place: (self.counts[place], -place))

    def cut(self, most: int) -> Outline:
        """The same tree with at most so many leaves, if its root has no more branches: where most rows are, it goes on.

        >>> small = Outline((3.0, 0.0))
        >>> tree = Outline((9.0, 3.0), "age", (("young", Outline((6.0, 0.0), "sex", (("F", small), ("M", small)))),
        ...                                    ("old", Outline((3.0, 3.0)))))
        >>> tree.leaves, tree.cut(2).leaves
        (3, 2)
        """
        opened, left = {()}, most - len(self.branches)
        waiting = list(_openable(self, ()))
        while waiting:
            place, node = max(waiting, key=lambda pair: pair[1].rows)
            waiting.remove((place, node))
            if len(node.branches) - 1 > left:
                continue
            left -= len(node.branches) - 1
            opened.add(place)
            waiting += _openable(node, place)
        return _kept(self, (), opened)

    def lines(self, classes: Sequence[object], most: int = 60) -> list[str]:
        """The tree in words, one line a node, indented.

        >>> print("\\n".join(Outline((9.2, 1.1)).lines(["no", "yes"])))
        no: 89% of about 10 rows
        """
        found = [self._words(classes)]
        for answer, branch in self.cut(most).branches:
            first, *rest = branch.lines(classes, most)
            found += [f"  {self.question} = {answer}: {first}", *(f"  {line}" for line in rest)]
        return found

    def _words(self, classes: Sequence[object]) -> str:
        return f"{classes[self.best]}: {self.shares[self.best]:.0%} of about {self.rows:,.0f} rows"


def _openable(node: Outline, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Outline]]:
    return (((*place, at), branch) for at, (_, branch) in enumerate(node.branches) if branch.branches)


def _kept(node: Outline, place: tuple[int, ...], opened: set[tuple[int, ...]]) -> Outline:
    if place not in opened:
        return Outline(node.counts, node.question)
    branches = ((answer, _kept(branch, (*place, at), opened)) for at, (answer, branch) in enumerate(node.branches))
    return Outline(node.counts, node.question, tuple(branches))
