"""OPT₀: strategies of all cells and p further queries, optimised for a workload in one order of the cells.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. For Θ ≥ 0 with p rows the strategy is A = [I; Θ]·diag(1/e), e = 1 + the column sums of Θ, so that
every column has L1 norm 1, and the squared error to minimise is tr[(AᵀA)⁻¹·WᵀW].

**Blocks.** On large domains Θ is constant on N blocks of cells, and the cells of each are measured by a base strategy
of norm 1 inside the block (every cell, or a weighted tree). Let u_c be the variance with which the base knows the sum
of block c, T_c the error of the workload inside it, α_c(q) the mean of query q over it, weighted with the shares that
its cells take of a surplus. With B = Θ·diag(√u), K = (I + BBᵀ)⁻¹, E = diag(e) and G_cd = √u_c·√u_d·Σ_q α_c·α_d,
Woodbury's identity gives

    f(B) = Σ_c e_c²·T_c − tr(K·BEG(BE)ᵀ),

for single cells and for blocks alike, in O(N·p²) and one product with G. Blocks joined into larger ones follow from G
by adding up rows and columns. The descent (L-BFGS-B) starts on few large blocks, from random numbers of a fixed seed,
and goes on with their halves: this is faster than to start with all cells, and ends lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Places, Reals
from adyton.remembered import cached_property
from adyton.threads import one_thread

_SEED = 20180901
_FIRST, _NEXT, _LAST = 300, 60, 30
"""Iterations on the coarsest blocks, on those between, and on the finest."""
_MOST_STARTS, _CHEAP = 5, 1 << 13
_TOLERANCE = 1e-8
_FAR = 1e3
_MEMORY = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """f(B) of the module for N blocks: ``gram`` is G, ``errors`` are the T_c, ``variances`` the u_c."""

    gram: Reals
    errors: Reals
    variances: Reals

    def joined(self, starts: Places) -> Problem:
        """The same problem for blocks that begin at these blocks (the number of blocks listed at the end)."""
        roots = np.sqrt(self.variances)
        variances = np.add.reduceat(self.variances, starts)
        rows = np.add.reduceat(self.gram * roots[:, None], starts, axis=0)
        both = np.add.reduceat(rows * roots, starts, axis=1)
        joined = np.sqrt(variances)
        return Problem(both / np.outer(joined, joined), np.add.reduceat(self.errors, starts), variances)

    @cached_property
    def _factors(self) -> tuple[Reals, Reals, Reals] | None:
        """x, y and d, if G_ab = x_a·y_b for all a < b and G_aa = x_a·y_a + d_a: so it is for prefixes and intervals."""
        first, last = self.gram[0], self.gram[:, -1]
        if not (first[-1] > 0 and first.size > 2):
            return None
        x, y = last.copy(), first / first[-1]
        x[-1], y[0] = 0.0, 0.0  # not part of any pair a < b
        above = np.triu(np.outer(x, y), 1)
        if np.abs(above - np.triu(self.gram, 1)).max() > 1e-11 * np.abs(self.gram).max():
            return None
        return x, y, np.diagonal(self.gram) - x * y

    def product(self, rows: Reals) -> Reals:
        """rows·G, with two cumulative sums where G allows it."""
        if self._factors is None:
            return np.asarray(rows @ self.gram)
        x, y, diagonal = self._factors
        result = rows * (x * y + diagonal)
        before, after = rows * x, rows * y
        result[:, 1:] += before.cumsum(axis=1)[:, :-1] * y[1:]
        result[:, :-1] += after[:, ::-1].cumsum(axis=1)[:, -2::-1] * x[:-1]
        return result

    def value(self, b: Reals) -> tuple[float, Reals]:
        """f(B) and its gradient."""
        roots = np.sqrt(self.variances)
        e = 1 + b.sum(axis=0) / roots
        k = np.linalg.inv(np.eye(len(b)) + b @ b.T)
        scaled = b * e
        crossed = self.product(scaled)
        middle = crossed @ scaled.T  # BEG(BE)ᵀ
        value = float(np.square(e) @ self.errors - np.vdot(k, middle))
        solved = k @ crossed
        gradient = (k @ middle @ k) @ b - solved * e
        gradient += (e * self.errors - np.einsum("rc,rc->c", solved, b)) / roots
        return value, 2 * gradient


def optimise(problem: Problem, rows: int, stages: list[Places]) -> tuple[Reals, float]:
    """Θ ≥ 0 with this many rows and its f, from stages of joined blocks, from the coarsest to the blocks themselves.

    Each stage lists the first block of each of its joined blocks.
    """
    theta, value = np.zeros((rows, 0)), np.inf
    for number, starts in enumerate(stages):
        last = number == len(stages) - 1
        stage = problem if last else problem.joined(starts)
        roots = np.sqrt(stage.variances)
        if number:
            counts = np.diff(np.searchsorted(starts, np.append(stages[number - 1], starts[-1] + 1)))
            b, value = _descend(stage, np.repeat(theta, counts, axis=1) * roots, _LAST if last else _NEXT)
        else:
            b, value = _start(stage, rows)
        theta = b / roots
    return theta, value


def _start(problem: Problem, rows: int) -> tuple[Reals, float]:
    """The best of some descents from random numbers: more of them where they are cheap."""
    random = np.random.default_rng(_SEED)
    shape = rows, problem.errors.size
    tries = min(_MOST_STARTS, max(1, _CHEAP // (shape[0] * shape[1])))
    found = [_descend(problem, random.random(shape), _FIRST) for _ in range(tries)]
    return min(found, key=lambda result: result[1])


def _descend(problem: Problem, start: Reals, iterations: int) -> tuple[Reals, float]:
    """A local minimum of ln f over B ≥ 0."""
    from scipy.optimize import Bounds, minimize

    def logarithm(flat: Reals) -> tuple[float, Reals]:
        value, gradient = problem.value(flat.reshape(start.shape))
        if not value > 0:  # a step so long that only rounding errors are left
            return _FAR, np.zeros(flat.size)
        return float(np.log(value)), gradient.reshape(-1) / value

    options: Any = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": _MEMORY, "ftol": _TOLERANCE, "gtol": 0.0}
    with one_thread():
        found = minimize(
            logarithm, start.reshape(-1), jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=options
        )
    return found.x.reshape(start.shape), float(np.exp(found.fun))
