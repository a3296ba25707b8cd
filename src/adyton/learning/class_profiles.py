"""The model of naive Bayes: how frequent each class is, and how each attribute is distributed within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.bells import Bells
from adyton.learning.frequencies import Frequencies
from adyton.learning.model import Model, real_array
from adyton.learning.target import Target
from adyton.messages import listing
from adyton.remembered import cached_property

Profile: TypeAlias = Frequencies | Bells
"""One attribute within each class."""
_TELLING = 3
"""How many levels of an attribute are named for a class."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProfiles(Model):
    """P(class | row) ∝ P(class) · ∏ P(value of attribute j | class), as if attributes were independent within a class.

    Every factor was estimated from noisy counts. A value without a cell has no factor.
    """

    kind = "naive-bayes"

    prior: Reals
    """How frequent each class is."""
    profiles: tuple[Profile, ...]
    """One for each attribute, in their order."""
    counted: float
    """The noisy number of all rows."""

    @property
    def rows(self) -> float:
        """As many as were counted."""
        return self.counted

    @cached_property
    def _tables(self) -> list[Reals]:
        """log P(cell | class) by attribute, with a last row of zeros: it is what the code −1 points at."""
        classes = len(self.classes)
        return [np.vstack([one.logarithms(), np.zeros(classes)]) for one in self.profiles]

    def _probabilities(self, codes: Integers) -> Reals:
        scores = np.tile(np.log(self.prior), (len(codes), 1))
        for place, table in enumerate(self._tables):
            scores += table[codes[:, place]]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def learnt(self) -> dict[str, Any]:
        """The prior, the profiles, and about how many rows there were."""
        return {
            "prior": self.prior.tolist(),
            "profiles": [one.to_plain() for one in self.profiles],
            "rows": self.counted,
        }

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> ClassProfiles:
        """With a profile for each attribute."""
        if learnt.keys() != {"prior", "profiles", "rows"} or len(learnt["profiles"]) != len(target.schema.names):
            raise BadInput(
                f"a model has a prior, a number of rows, and a profile for each of {listing(target.schema.names)}."
            )
        classes = len(target.classes)
        prior = real_array(learnt["prior"], (classes,), "the prior")
        if not (prior > 0).all() or not np.isclose(prior.sum(), 1, atol=1e-6):
            raise BadInput("the prior must be greater than 0 and add up to 1.")
        attributes = target.schema.attributes.values()
        profiles = tuple(
            (Bells if "means" in plain else Frequencies).from_plain(attribute, classes, plain)
            for attribute, plain in zip(attributes, learnt["profiles"], strict=True)
        )
        rows = float(real_array([learnt["rows"]], (1,), "rows")[0])
        return cls(target=target, prior=prior, profiles=profiles, counted=rows)

    def explain(self) -> str:
        """How frequent each class is, and the levels that tell most for it."""
        lines = [f"Naive Bayes: {self.label!r} from {listing(self.schema.names)}, from noisy counts."]
        for place, name in enumerate(self.classes):
            lines.append(f"{self.label} = {name} ({self.prior[place]:.1%} of the rows)")
            told = [(gain, text) for one in self.told(place) for gain, text in one]
            told.sort(key=lambda pair: -pair[0])
            lines += [f"  {text}" for _, text in told[: 2 * _TELLING]]
        return "\n".join(lines)

    def told(self, place: int) -> list[list[tuple[float, str]]]:
        """For each attribute what speaks for a class, with how much it tells: P(v|c)·log(P(v|c)/P(v))."""
        pairs = zip(self.schema.names, self.profiles, strict=True)
        return [profile.told(name, place, self.prior)[:_TELLING] for name, profile in pairs]
