"""What comes out of a configuration: the parameter, what is promised about it, and what it cost."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.configuration import configuration_file
from adyton.configuration.grid import Parameter
from adyton.configuration.guarantee import Guarantee
from adyton.exact import display
from adyton.kernel.instances.utility import Utility
from adyton.odds import often
from adyton.result.explanation import Explanation
from adyton.result.receipt import Receipt


@dataclass(frozen=True)
class Configuration:
    """A tuned parameter. It is public: nothing in it tells anything about an instance, nor how many there were.

    Made by :func:`adyton.configure`; kept in a file by :meth:`save`, and read back by :meth:`load`.
    """

    family: str
    """The name of the algorithm that was tuned."""
    parameter: Parameter
    """The value that was chosen; a tuple of them for a grid of several parameters."""
    epsilon: Fraction
    """What was charged for it."""
    intervals: tuple[tuple[float, float], ...]
    """Where every parameter was looked for."""
    neighbours: str
    """Whom ε protects: one instance that is added or removed (``add-remove``), or that is another one (``replace``)."""
    utility: Utility
    """What was made as good as possible: the clipped relative regret, or the value."""
    receipt: Receipt
    """What was paid: privacy unit, budget, entries of the ledger, versions, date."""
    points: int | None = None
    """How many points the grid had; None where the whole interval was looked at."""
    default: float | None = None
    """Today's value, if half of the prior was on it."""
    curve: tuple[tuple[float, float], ...] | None = None
    """Parameters and their mean utility, 0 … 1, for *public* instances of one parameter; never for private ones."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the parameter was looked for; the first one's interval, if there are several."""
        return self.intervals[0]

    @property
    def guarantee(self) -> Guarantee:
        """How far from the best it may be on average, with what probability: from public figures alone."""
        owners = self.receipt.unit == "owner"
        return Guarantee(self.epsilon, self.neighbours, self.utility, self.points, self.default is not None, owners)

    @property
    def private(self) -> bool:
        """Whether the noise was real; on public instances it is simulated."""
        return self.receipt.private

    def explain(self) -> Explanation:
        """What was tuned and to what, what is promised, and what was spent, in words."""
        tuned, promised = self._chosen(), f"Guarantee: {self.guarantee}"
        if not self.private:
            return Explanation(
                ("NOT PRIVATE: the instances were declared public, and the noise is simulated.", tuned, promised)
            )
        return Explanation((tuned, promised, self._protected(), self._budget()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file."""
        configuration_file.KIND.write(configuration_file.body_of(self), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Configuration:
        """The configuration in a file that :meth:`save` wrote. It is checked as a stranger's would be."""
        return cls(**configuration_file.KIND.read(path, configuration_file.parts_of))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return configuration_file.to_dict(self)

    @classmethod
    def from_dict(cls, plain: Any) -> Configuration:
        """The configuration that :meth:`to_dict` described; checked as a stranger's would be."""
        return cls(**configuration_file.KIND.made(plain, "this value", configuration_file.parts_of))

    def _chosen(self) -> str:
        where = " × ".join(f"[{low:g}, {high:g}]" for low, high in self.intervals)
        looked = f"on {where}" if self.points is None else f"among {self.points:,} points of {where}"
        scale = display(self.utility.scale)
        goal = f"relative regret, clipped at {scale}" if self.utility.name == "regret" else f"value, up to {scale}"
        prior = "" if self.default is None else f" Half of the prior was on today's value, {self.default:g}."
        return f"Tuned: {self.family}, to the parameter {shown(self.parameter)}, {looked}, by {goal}.{prior}"

    def _protected(self) -> str:
        unit = "instance" if self.receipt.unit != "owner" else "owner's instances"
        change = "are among those used" if unit.endswith("s") else "is among those used"
        if self.neighbours == "replace":
            change = (
                "were used, or others in their place" if unit.endswith("s") else "was used, or another in its place"
            )
        whose = f"a certain {unit} {change}"
        return f"Privacy: whoever guesses whether {whose}, with even odds before, {often(self.epsilon)}."

    def _budget(self) -> str:
        receipt = self.receipt
        kept = f"in {receipt.ledger}" if receipt.ledger else "in this process only; no ledger file remembers it"
        left, total = display(receipt.remaining), display(receipt.total)
        return f"Budget: this configuration cost ε = {display(self.epsilon)}; {left} of {total} is left, {kept}."

    def __repr__(self) -> str:
        mark = "" if self.private else "; simulated, NOT private"
        return f"<{self.family} tuned to {shown(self.parameter)}, ε = {display(self.epsilon)}{mark}>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()


def shown(parameter: Parameter) -> str:
    """A parameter as people read it.

    >>> shown(0.123456789), shown((1.0, 2.5))
    ('0.12345679', '(1, 2.5)')
    """
    if isinstance(parameter, tuple):
        return f"({', '.join(map(shown, parameter))})"
    return f"{parameter:.8g}"
