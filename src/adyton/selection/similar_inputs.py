"""The default selector: the public inputs that are most like this one vote, each with the regrets that it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan
from adyton.plans.registry import plan_named
from adyton.queries import Queries
from adyton.queries.base import Reals
from adyton.selection.features import Bought, feature_named
from adyton.selection.inputs import workload_named
from adyton.selection.measured import Measured
from adyton.selection.replay import Replay, uses_rows
from adyton.selection.selector import Choice, Selector, Training, cheapest
from adyton.selection.workload_kinds import reach

_SIZE_WIDTH = 0.6
"""How far apart, in doublings, the numbers of cells of similar inputs are."""
_REACH_WIDTH = 0.1
"""How far apart the reaches of similar workloads are."""
_SIGNAL_WIDTH = 0.35
"""How far apart the signals of similar inputs are, as a part of the signal."""
_DECIMALS = 3


@dataclass(frozen=True, eq=False)
class SimilarInputs(Selector):
    """Expects of each algorithm what it did on similar public inputs, and chooses the least expected regret.

    An input is similar if its domain is about as large, its workload asks about as much of it, and ε·rows is about what
    a noisy count says it is here: the weight of an input is the likelihood of the noisy count, given its own. The count
    is bought only if, on the training inputs, choosing by it pays more than its price, and the chosen algorithm uses it
    again. Where the error of an algorithm has a closed form, that of the actual workload takes the place of what was
    measured.
    """

    kind = "similar-inputs"
    usual_share: ClassVar[Fraction] = Fraction(1, 100)

    training: Training
    share: Fraction
    sizes: Reals
    """The logarithm to base 2 of the number of cells of each training input."""
    reaches: Reals
    signals: Reals
    """ε·rows of each."""
    logs: Reals
    """inputs × algorithms: the logarithm of the error, in units of that of plain noise on every cell."""

    @classmethod
    def trained(cls, training: Training, share: Fraction, measured: Measured) -> SimilarInputs:
        """From measured errors: one row for each input and workload."""
        plain = plan_named("identity")
        parts: list[tuple[Reals, ...]] = []
        for name in measured.errors:
            asked = [workload_named(name, one.domain) for one in measured.inputs]
            unit = [
                float(plain.expected_error(workload, one.epsilon))
                for workload, one in zip(asked, measured.inputs, strict=True)
            ]
            logs = np.log(measured.mean_errors(name)) - np.log(unit)[:, None]
            sizes = np.log2([workload.cells for workload in asked])
            signals = np.array([float(one.epsilon * one.scale) for one in measured.inputs])
            parts.append((sizes, np.array([reach(workload) for workload in asked]), signals, logs))
        return cls(training, share, *(np.concatenate(column) for column in zip(*parts, strict=True)))

    def choose(self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None) -> Choice:
        """Weigh the training inputs; buy the noisy count first, if it pays."""
        self.check(workload)
        usable, notes = self.available()
        places = [self.training.algorithms.index(name) for name in usable]
        plain = float(plan_named("identity").expected_error(workload, epsilon))
        logs = self._logs(workload, epsilon, plain, usable, places)
        weights = self._public_weights(workload)
        regrets = np.exp(logs - logs.min(axis=1, keepdims=True))
        bought: tuple[Bought, ...] = ()
        if total is not None:
            weights = weights * self._likelihoods(float(epsilon) * total, 0.0)
        elif self._pays(weights, regrets, usable):
            bought = (feature_named("scale").buy(x, epsilon, self.share * epsilon),)
            weights = weights * self._likelihoods(bought[0].value, float(1 / self.share))
        weights = weights / weights.sum()
        expected = dict(zip(usable, (weights @ regrets).tolist(), strict=True))
        errors = dict(zip(usable, (plain * np.exp(weights @ logs)).tolist(), strict=True))
        left = epsilon - sum((one.spent for one in bought), Fraction(0))
        return Choice(cheapest(expected.items(), usable), left, bought, expected, errors, notes)

    def replay(self, measured: Measured, workload: str, *, draws: int, seed: int) -> Replay:
        """Buy a noisy count where it pays, as often as asked, and weigh the training inputs by it."""
        chosen = np.empty((draws, len(measured.inputs)), dtype=np.int64)
        left = np.ones(chosen.shape)
        names = self.training.algorithms
        random = np.random.default_rng(seed)
        for column, one in enumerate(measured.inputs):
            asked = workload_named(workload, one.domain)
            weights, regrets = self._votes(asked, one.epsilon, names)
            if self._pays(weights, regrets, names):
                noise = float(1 / self.share)
                noisy = float(one.epsilon * one.scale) + noise * random.laplace(0, 1, draws)
                expected = (_likelihoods(noisy, self.signals, noise) * weights) @ regrets
                chosen[:, column] = np.argmin(expected, axis=1)
                again = np.array([uses_rows(name) for name in names])
                left[:, column] = np.where(again[chosen[:, column]], 1.0, 1 - float(self.share))
            else:
                chosen[:, column] = int(np.argmin(weights @ regrets))
        places = np.array([measured.algorithms.index(name) for name in names])
        return Replay(places[chosen], left)

    def _votes(self, workload: Queries, epsilon: Fraction, usable: Sequence[str]) -> tuple[Reals, Reals]:
        """The public weights of the training inputs, and the regrets of these algorithms on them."""
        places = [self.training.algorithms.index(name) for name in usable]
        plain = float(plan_named("identity").expected_error(workload, epsilon))
        logs = self._logs(workload, epsilon, plain, usable, places)
        return self._public_weights(workload), np.exp(logs - logs.min(axis=1, keepdims=True))

    def _logs(
        self, workload: Queries, epsilon: Fraction, plain: float, usable: Sequence[str], places: list[int]
    ) -> Reals:
        """The logarithms of errors, with those that have a closed form replaced by it."""
        logs = self.logs[:, places].copy()
        for column, name in enumerate(usable):
            plan = plan_named(name)
            if not plan.serves.data_dependent and (closed := _closed_form(plan, workload, epsilon)) is not None:
                logs[:, column] = np.log(closed / plain)
        return logs

    def _public_weights(self, workload: Queries) -> Reals:
        """How alike the training inputs are, as far as the size of the domain and the workload tell."""
        far = (self.sizes - np.log2(workload.cells)) / _SIZE_WIDTH, (self.reaches - reach(workload)) / _REACH_WIDTH
        distance = np.square(far[0]) + np.square(far[1])
        return np.asarray(np.exp(-(distance - distance.min()) / 2))

    def _likelihoods(self, signal: float, noise: float) -> Reals:
        """How likely this noisy signal is for each of the training inputs, or for one with nearly its signal."""
        return np.asarray(_likelihoods(np.array([signal]), self.signals, noise)[0])

    def _pays(self, weights: Reals, regrets: Reals, usable: Sequence[str]) -> bool:
        """Whether choosing by a noisy count has less regret, on the training inputs, than its price."""
        if not self.share:
            return False
        near = np.flatnonzero(weights > weights.max() * 1e-3)
        weight, regret = weights[near] / weights[near].sum(), regrets[near]
        blind = float((weight @ regret).min())
        votes = _likelihoods(self.signals[near], self.signals[near], float(1 / self.share)) * weight
        chosen = np.argmin((votes / votes.sum(axis=1, keepdims=True)) @ regret, axis=1)
        again = np.array([uses_rows(name) for name in usable])
        price = np.where(again[chosen], 1.0, 1 / (1 - float(self.share)))
        return float(weight @ (regret[np.arange(near.size), chosen] * price)) < blind

    def learnt(self) -> dict[str, Any]:
        """The table of training inputs."""
        columns = {"sizes": self.sizes, "reaches": self.reaches, "signals": self.signals, "logs": self.logs}
        return {name: np.round(column, _DECIMALS).tolist() for name, column in columns.items()}

    @classmethod
    def from_learnt(cls, training: Training, share: Fraction, learnt: Any) -> SimilarInputs:
        """The selector with this table."""
        columns = [np.asarray(learnt[name], dtype=np.float64) for name in ("sizes", "reaches", "signals", "logs")]
        rows = {len(column) for column in columns}
        if len(rows) != 1 or columns[3].shape != (*columns[0].shape, len(training.algorithms)) or not columns[0].size:
            raise BadInput("this is not a selector by similar inputs: its columns are not of one length.")
        return cls(training, share, *columns)

    def in_words(self) -> str:
        """Which algorithm wins where."""
        from adyton.selection.winners import winners_in_words

        return winners_in_words(self)


def _likelihoods(noisy: Reals, signals: Reals, noise: float) -> Reals:
    """noisy × signals: Laplace densities, whose scale joins that of the noise and the distance of similar signals."""
    scale = np.sqrt(noise**2 + np.square(_SIGNAL_WIDTH * signals))
    exponent = -np.abs(noisy[:, None] - signals) / scale - np.log(scale)
    return np.asarray(np.exp(exponent - exponent.max(axis=1, keepdims=True)))


@lru_cache(maxsize=256)
def _closed_form(plan: Plan, workload: Queries, epsilon: Fraction) -> float | None:
    """The exact error, if the plan knows it."""
    try:
        found = plan.expected_error(workload, epsilon)
    except BadInput:
        return None
    return found.total if found.kind in ("exact", "estimate") else None
