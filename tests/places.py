"""Programs, options and public data that several tests of choices share."""

from fractions import Fraction as F

import numpy as np

import adyton as ad
from adyton.kernel.mechanisms import NonZeros
from adyton.queries import Identity, Total

PARTS = ad.Partition(np.repeat(np.arange(4), 8))


def program(x, *, epsilon, told=None):
    """Four parts of a line: each is measured cell by cell, or spread evenly, as is chosen by its noisy count."""
    answers = []
    for part in x.split(PARTS):
        rows = part.measure(Total(part.shape), epsilon / 4)
        support = float(rows.value) * float(epsilon) / part.cells
        if ad.choose("how", ["cells", "even"], default="cells", support=support if told is None else told) == "cells":
            answers.append(part.measure(Identity(part.shape), F(3, 4) * epsilon).answers)
        else:
            answers.append(np.full(part.cells, max(0, rows.value) / part.cells))
            part.measure(Total(part.shape), F(3, 4) * epsilon)
    return np.concatenate(answers)


def score(answer, public):
    return -float(np.log(1 + np.abs(answer - public.counts).mean()))


def lines(sets, seed=0):
    """Counts on 32 cells: four parts of very different sizes, each nearly even."""
    random = np.random.default_rng(seed)
    data_sets = {}
    for number in range(sets):
        sizes = 10 ** random.uniform(0, 3.5, 4)
        parts = [random.multinomial(int(size), random.dirichlet(np.full(8, 5.0))) for size in sizes]
        data_sets[f"set {number}"] = np.concatenate(parts)
    return data_sets


@ad.metafeature
def rows(x, epsilon):
    """The number of rows."""
    return x.measure(Total(x.shape), epsilon)


@ad.metafeature
def filled(x, epsilon):
    return x.statistic(NonZeros(), epsilon).value / x.cells


@ad.metafeature(public=True)
def budget(x, epsilon):
    return float(epsilon)


@ad.option
def cells(x, *, epsilon):
    return x.measure(Identity(x.shape), epsilon).answers


@ad.option
def even(x, *, epsilon):
    return np.full(x.shape, x.measure(Total(x.shape), epsilon).value / x.cells)
