"""Many runs of the choice of quantiles at little cost: the noise of all runs is drawn at once, from the laws of the
mechanisms; the figures are the product's own. Looks at all rows are drawn eight times by the mechanism itself."""

from fractions import Fraction

import numpy as np

import adyton as ad
from adyton.kernel.mechanisms import NestedQuantiles
from adyton.noise.simulated import SimulatedNoise
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.programs import Choice
from adyton.statistics.quantile_posterior import around, located_figures
from adyton.statistics.quantiles import SIXTEENTHS, even_places, places, places_in_all

LOOKS = 8


def table(draw, cells, sizes):
    """Counts, groups × cells: *draw(group, rows)* gives the values of a group."""
    values = [np.clip(draw(group, rows), 0, cells - 1).astype(int) for group, rows in enumerate(sizes)]
    return np.array([np.bincount(line, minlength=cells) for line in values])


def near_an_edge():
    """Ten groups of 800 to 8,000 rows, most of them in two cells: in most, the median is a few rows from the edge
    between these cells."""
    rows = np.zeros((10, 40), dtype=int)
    for group, off in enumerate((2, 1, 4, 8, 0, 2, 2, 16, 32, 2)):
        cell, many = 10 + group, 400 * (group + 1)
        rows[group, cell], rows[group, cell + 1] = many, many - off
        rows[group, [*range(cell - 3, cell), *range(cell + 2, cell + 5)]] = many // 20
    return rows


def held(counts, quantiles, epsilon, runs, seed):
    """For each group and quantile: how often its 95% interval contained the true cell, and its mean width in cells."""
    groups, cells = counts.shape
    schema = ad.Schema({"g": ad.Integer(0, groups - 1), "x": ad.Integer(0, cells - 1)})
    numbers = GroupedNumbers.of(ad.Quantiles("x", quantiles, by="g"), schema)
    parts, (of_look, of_choice, of_counts) = numbers.task.quantiles, Choice.split(numbers, Fraction(epsilon))
    draws, noise = np.random.default_rng(seed), SimulatedNoise(seed)
    first = NestedQuantiles(cells, cells, SIXTEENTHS, even_places(cells, max(cells, 1 << 12)))
    looks = [np.array(first.choose(counts.sum(axis=0), of_look, noise)) for _ in range(LOOKS)]
    upto = np.concatenate((np.zeros((groups, 1), dtype=int), np.cumsum(counts, axis=1)), axis=1)
    truth = np.array([[np.searchsorted(line[1:], float(part) * line[-1]) for part in parts] for line in upto])
    inside, width = np.zeros((groups, len(parts))), np.zeros((groups, len(parts)))
    every = [(len(range(first, runs, LOOKS)), look) for first, look in enumerate(looks)]
    of_looks = [_chosen(numbers, counts, upto, look, of_choice, some, draws, noise) for some, look in every]
    for run in range(runs):
        look, own = looks[run % LOOKS], of_looks[run % LOOKS][run // LOOKS]
        borders = around(numbers, look, own)
        rows = np.take_along_axis(upto, borders[:, 1:], 1) - np.take_along_axis(upto, borders[:, :-1], 1)
        stops = -np.expm1(-float(of_counts))
        rows = rows + draws.geometric(stops, rows.shape) - draws.geometric(stops, rows.shape)
        epsilons = float(of_look), float(of_choice), float(of_counts)
        for place, found in enumerate(located_figures(numbers, look, own, rows, epsilons, 0.95)):
            inside[:, place] += (found.lower <= truth[:, place]) & (truth[:, place] <= found.upper)
            width[:, place] += found.upper - found.lower + 1
    return inside / runs, width / runs


def _chosen(numbers, counts, upto, look, epsilon, runs, draws, noise):
    """The chosen cells, runs × groups × quantiles. A single quantile is the largest of scores plus exponential noise;
    nested ones are chosen by the mechanism."""
    cells, parts = counts.shape[1], numbers.task.quantiles
    shared = places(numbers, look, places_in_all(numbers, len(parts).bit_length()))
    if len(parts) > 1:
        choice = NestedQuantiles(cells, cells, parts, shared)
        return [
            np.array(choice.choose(counts.reshape(-1), epsilon, noise)).reshape(-1, len(parts)) for _ in range(runs)
        ]
    below, of = parts[0].numerator, parts[0].denominator
    sharpness = float(epsilon) / (2 * max(below, of - below))
    chosen = np.empty((runs, len(counts), 1), dtype=int)
    for group, line in enumerate(upto):
        target = below * line[-1]
        scores = np.log(shared) - sharpness * np.maximum(target - of * line[1:], of * line[:-1] - target)
        likely = np.flatnonzero(scores > scores.max() - 40)
        for some in range(0, runs, 1000):
            noisy = scores[likely] + draws.exponential(size=(min(1000, runs - some), len(likely)))
            chosen[some : some + 1000, group, 0] = likely[noisy.argmax(axis=1)]
    return chosen
