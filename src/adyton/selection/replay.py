"""What a selector would choose on public inputs: from their features and simulated noise, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.plans.registry import plan_type
from adyton.selection.measured import Measured
from adyton.selection.selector import Selector


@dataclass(frozen=True, eq=False)
class Replay:
    """Choices on measured inputs, each made several times with other noise: draws × inputs."""

    chosen: npt.NDArray[np.int64]
    """Places in the list of algorithms."""
    left: Reals
    """The part of the budget that the chosen algorithm runs with, its own purchase of the total given back to it where
    the selector bought that already."""

    def errors(self, measured: Measured, workload: str) -> Reals:
        """The error to expect of the choice on each input.

        It was measured at the full budget. With a part r of it the noise is 1/r times as large, and so, at most, is the
        error of an algorithm that does no better, relative to its noise, where there is less signal.
        """
        means = measured.mean_errors(workload)
        return np.asarray((means[np.arange(len(means)), self.chosen] / self.left).mean(axis=0))


def held_out(measured: Measured, learn: Callable[[Measured], Selector]) -> dict[str, Selector]:
    """For each data set, a selector that was learnt from all the others."""
    return {source: learn(measured.without(source)) for source in measured.sources}


def expected_errors(
    measured: Measured, selectors: dict[str, Selector], workload: str, *, draws: int = 10, seed: int = 0
) -> Reals:
    """For each input, the error to expect of the selector for its data set."""
    errors = np.empty(len(measured.inputs))
    for number, (source, selector) in enumerate(selectors.items()):
        places = [place for place, one in enumerate(measured.inputs) if one.shape.source == source]
        held = measured.only(source)
        errors[places] = selector.replay(held, workload, draws=draws, seed=seed + number).errors(held, workload)
    return errors


def uses_rows(algorithm: str) -> bool:
    """Whether an algorithm buys a noisy number of rows, and need not if there is one."""
    return plan_type(algorithm).buys_total
