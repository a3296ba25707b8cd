"""The table of laws that ships with the package. Run this file as a program to write it again."""

from pathlib import Path

import numpy as np
from scipy.special import betaln

from adyton.denoising import splits as split_laws
from adyton.denoising.splits import SIZES, SMALLEST, SPREADS, TABLE


def beta_binomial(left, right, spread):
    """C(l + r, l)·B(l + a, r + a) / B(a, a), with C(n, l) = 1 / ((n + 1)·B(l + 1, r + 1))."""
    odds = betaln(left + spread, right + spread) - betaln(spread, spread)
    return np.exp(odds - betaln(left + 1, right + 1) - np.log(left + right + 1))


def laws():
    small = np.arange(TABLE, dtype=np.float64)
    edges = np.empty((SIZES - SMALLEST, TABLE + 1, len(SPREADS)))
    for size in range(SMALLEST, SIZES):
        whole = 1.5 * 2.0**size
        for number, spread in enumerate(SPREADS):
            near = beta_binomial(small, np.maximum(whole - small, TABLE), spread)
            inner = max(1e-12, 1 - 2 * near.sum()) / max(whole - 2 * TABLE, 1.0)
            edges[size - SMALLEST, :, number] = np.append(near, inner)
    splits = np.stack([beta_binomial(small[:, None], small, spread).reshape(-1) for spread in SPREADS], axis=1)
    return np.concatenate([splits, edges.reshape(-1, len(SPREADS))])


def test_the_table_that_ships_has_the_laws_that_are_written_down():
    assert np.allclose(split_laws._laws()[0], laws(), rtol=1e-4, atol=1e-15)  # small laws are differences


if __name__ == "__main__":
    np.save(Path(split_laws.__file__).with_name("split_laws.npy"), laws())
