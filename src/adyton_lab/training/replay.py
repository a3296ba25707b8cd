"""What a selector would choose on public inputs: from features and simulated noise, without running algorithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.decision_tree import most_features, walk
from adyton.choice.selector import CELLS, FEATURES, TIE, Selector, best, workload_named
from adyton.choice.trained_selectors import SimilarInputs, TreeSelector, counted, known_error
from adyton.errors import BadInput
from adyton.plans.registry import plan_type
from adyton_lab.training.experiments import Measured

_DRAWS = 10
"""How many times each choice is made, with fresh noise."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Choices on measured inputs, each made several times with fresh noise: draws × inputs."""

    chosen: npt.NDArray[np.int64]
    """Places in the list of algorithms."""
    left: Reals
    """The fraction of the budget that the chosen algorithm runs with. If the selector has already measured the total,
    an algorithm that would measure it loses nothing."""

    def errors(self, measured: Measured, workload: str) -> Reals:
        """The expected error of the choice on each input.

        Errors were measured at the full budget. With a fraction r of it the noise is 1/r times as large; the error is
        at most 1/r times as large, if an algorithm does no better, relative to its noise, with less signal.
        """
        means = measured.mean_errors(workload)
        return np.asarray((means[np.arange(len(means)), self.chosen] / self.left).mean(axis=0))


@singledispatch
def replay(selector: Selector, measured: Measured, workload: str, *, draws: int, seed: int) -> Replay:
    """What a selector would choose on public inputs, from their true features and simulated noise."""
    raise BadInput(f"a {selector.kind} selector cannot be replayed.")


@replay.register
def _(selector: SimilarInputs, measured: Measured, workload: str, *, draws: int, seed: int) -> Replay:
    """Measure a noisy count if it pays off, *draws* times, and count the votes by it."""
    chosen = np.empty((draws, len(measured.inputs)), dtype=np.int64)
    left = np.ones(chosen.shape)
    random = np.random.default_rng(seed)
    for column, training in enumerate(measured.inputs):
        asked = workload_named(workload, training.domain)
        names = tuple(selector.available(asked)[0])
        places = np.array([measured.algorithms.index(name) for name in names])
        _, votes, _ = counted(selector, asked, training.epsilon, names)
        exact = np.array([known_error(name, asked, training.epsilon) is not None for name in names])
        if selector.pays(votes, names):
            noise = float(1 / selector.share)
            noisy = float(training.epsilon * training.scale) + noise * random.laplace(0, 1, draws)
            picked = best(votes.expected(votes.shares(noisy, noise)), exact, TIE)
            left[:, column] = 1 / selector.prices(names)[picked]
        else:
            picked = best(votes.expected(), exact, TIE)
        chosen[:, column] = places[picked]
    return Replay(chosen, left)


@replay.register
def _(selector: TreeSelector, measured: Measured, workload: str, *, draws: int, seed: int) -> Replay:
    """Walk down the tree with noisy features, *draws* times."""
    tree = selector.trees[workload]
    price = selector.share / max(1, most_features(tree, frozenset([CELLS])))
    names = (CELLS, *(feature.name for feature in FEATURES))
    rows = measured.noisy_features(price, draws, seed)
    chosen, left = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for number, row in enumerate(rows):
        leaf, seen = walk(tree, dict(zip(names, row.tolist(), strict=True)).__getitem__)
        paid = seen.keys() - {CELLS} - ({"scale"} if plan_type(leaf.algorithm).buys_total else set())
        chosen[number] = measured.algorithms.index(leaf.algorithm)
        left[number] = 1 - float(price) * len(paid)
    return Replay(chosen.reshape(draws, -1), left.reshape(draws, -1))


def held_out(measured: Measured, learn: Callable[[Measured], Selector]) -> dict[str, Selector]:
    """For each data set, a selector that was learnt from all the others."""
    return {source: learn(measured.without(source)) for source in measured.sources}


def expected_errors(measured: Measured, selectors: dict[str, Selector], workload: str) -> Reals:
    """For each input, the expected error of the selector for its data set."""
    errors = np.empty(len(measured.inputs))
    for number, (source, selector) in enumerate(selectors.items()):
        places = [place for place, training in enumerate(measured.inputs) if training.shape.source == source]
        held = measured.only(source)
        errors[places] = replay(selector, held, workload, draws=_DRAWS, seed=number).errors(held, workload)
    return errors
