"""A tuned parameter: one private choice on a data owner's instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.configuration.result import Configuration
from adyton.configuration.tuning import Search
from adyton.errors import BadInput
from adyton.kernel.sources import InstancesSource
from adyton.programs.base import Answer, Outlook, Program
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.schema import Schema
from adyton.tasks.request import Request


@dataclass(frozen=True, eq=False)
class Tune(Program):
    """The choice of a parameter, made by :func:`adyton.configure`; requests in files or shells have no instances."""

    noun = "a configuration"
    result = Configuration

    request: Request
    asked: Search
    curve: tuple[tuple[float, float], ...] | None = None
    """The curve of public instances, for a drawing."""

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Tune:
        """Refused: a table has no instances."""
        raise BadInput("a parameter is tuned on instances, not on a table. Use ad.configure, or adyton configure.")

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """None: instances have no attributes."""
        return None

    def check(self, source: InstancesSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Refuse more than is left of the budget."""
        source.kernel.afford(source, epsilon)

        def run() -> Answer:
            own = {"schema": None, "parameter": self.asked.chosen(source, epsilon), "curve": self.curve}
            return Answer(self.asked.name, own)

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> Outlook:
        """Refused: the guarantee depends on the number of instances."""
        raise BadInput("the guarantee for a parameter depends on the number of instances. Use adyton configure plan.")
