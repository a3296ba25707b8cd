"""What the experiments have shown: the error of every algorithm on every input, and its regrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.selection.selector import FEATURES
from adyton_lab.inputs import Input

_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Measured:
    """Errors by workload, each inputs × algorithms × trials, and the true private features, inputs × features."""

    inputs: tuple[Input, ...]
    algorithms: tuple[str, ...]
    errors: dict[str, Reals]
    features: Reals

    @property
    def sources(self) -> tuple[str, ...]:
        """The data sets, each once."""
        return tuple(dict.fromkeys(one.shape.source for one in self.inputs))

    def without(self, source: str) -> Measured:
        """All inputs but those from this data set."""
        return self.where(lambda one: one.shape.source != source)

    def only(self, source: str) -> Measured:
        """The inputs from this data set."""
        return self.where(lambda one: one.shape.source == source)

    def every(self, step: int) -> Measured:
        """The first input and every so many-th after it."""
        errors = {name: errors[::step] for name, errors in self.errors.items()}
        return Measured(self.inputs[::step], self.algorithms, errors, self.features[::step])

    def where(self, keep: Callable[[Input], bool]) -> Measured:
        """Only these inputs."""
        rows = np.array([keep(one) for one in self.inputs])
        kept = tuple(one for one, stays in zip(self.inputs, rows, strict=True) if stays)
        return Measured(
            kept, self.algorithms, {name: errors[rows] for name, errors in self.errors.items()}, self.features[rows]
        )

    def mean_errors(self, workload: str) -> Reals:
        """inputs × algorithms, over the trials; never quite 0, so that ratios and logarithms exist."""
        return np.asarray(np.maximum(self.errors[workload].mean(axis=-1), _LEAST))

    def regrets(self, workload: str) -> Reals:
        """inputs × algorithms: the mean error divided by the least one."""
        means = self.mean_errors(workload)
        return np.asarray(means / means.min(axis=1, keepdims=True))

    def best_errors(self, workload: str) -> Reals:
        """For each input the error of the best algorithm, cross-fitted.

        The least of several noisy means is too low on average. So the best algorithm is found on one half of the
        trials, its error taken from the other half, and the two such figures are averaged.
        """
        errors = self.errors[workload]
        halves = errors[..., ::2].mean(axis=-1), errors[..., 1::2].mean(axis=-1)
        found = [
            np.take_along_axis(judged, np.argmin(chosen, axis=1)[:, None], axis=1)[:, 0]
            for chosen, judged in (halves, halves[::-1])
        ]
        return np.asarray(np.maximum((found[0] + found[1]) / 2, _LEAST))

    def noisy_features(self, price: Fraction, draws: int, seed: int) -> Reals:
        """(draws · inputs) × features, the public one first, each private one bought for *price* times ε."""
        random = np.random.default_rng(seed)
        cells = [int(np.prod(one.domain)) for one in self.inputs]
        kinds = [(size, one.epsilon) for size, one in zip(cells, self.inputs, strict=True)]
        scales = {
            (size, epsilon): [feature.noise(size, epsilon, price * epsilon) for feature in FEATURES]
            for size, epsilon in set(kinds)
        }
        noise = np.array([scales[kind] for kind in kinds])
        private = self.features + random.laplace(0, 1, (draws, *noise.shape)) * noise
        public = np.broadcast_to(np.array(cells, dtype=np.float64)[:, None], (draws, len(cells), 1))
        return np.concatenate([public, private], axis=2).reshape(draws * len(cells), -1)
