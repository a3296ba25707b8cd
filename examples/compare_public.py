"""Which algorithm would be best on data like these? Errors of several of them on public, made-up data.

    python examples/compare_public.py [ROWS]

Public data only: nothing here is private, and nothing is charged.
"""

import sys

import numpy as np

import adyton as ad
from adyton_lab.corpus import made_up_corpus

ALGORITHMS = ("identity", "hb", "optimal-hierarchy", "dawa", "staged-hierarchy", "pythia")
CELLS, EPSILON, TRIALS = 128, "0.1", 2


def main(rows: int) -> None:
    """Print the root mean square error of a range, for each shape and algorithm."""
    workload = ad.workloads.RandomRanges(CELLS, 500, seed=0)
    random = np.random.default_rng(0)
    width = max(len(name) for name in ALGORITHMS)
    print(f"{rows} rows, {CELLS} cells, ε = {EPSILON}; the best of each shape has a star.\n")
    print(f"{'':<14}", *(f"{name:>{width}}" for name in ALGORITHMS))
    for shape in made_up_corpus(1):
        x = random.multinomial(rows, shape.at(CELLS))
        errors = [error(name, x, workload) for name in ALGORITHMS]
        cells = (f"{value:.1f}{'*' if value == min(errors) else ' '}" for value in errors)
        print(f"{shape.name:<14}", *(f"{cell:>{width}}" for cell in cells))


def error(name: str, x: np.ndarray, workload: ad.workloads.Queries) -> float:
    """The root mean square error of one answer, over all queries and some runs."""
    estimates = ad.simulate(name, x, workload, epsilon=EPSILON, seed=1, trials=TRIALS)
    return float(np.sqrt(np.square(workload @ estimates - workload @ x).mean()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
