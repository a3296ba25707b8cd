"""The greedy algorithms once more, in plain Python on whole numbers, written from their descriptions alone.

Each takes an instance and gives a function of the parameter. Scores are exact: logarithms are multiples of 2⁻⁴⁰,
parameters are fractions. Equal scores: the smaller number first.
"""

import math
from fractions import Fraction
from itertools import pairwise

LARGEST = 2.0**200


def number(value):
    return 0.0 if math.isnan(value) else min(max(value, 0.0), LARGEST)


def log(value):
    return round(math.log(value) * 2**40)


def grid(largest):
    return Fraction(2) ** (math.frexp(largest)[1] - 51)


def ordered(lines, parameter):
    """Names of (name, a, b), the highest a − ρ·b first."""
    top, bottom = parameter.as_integer_ratio()
    return [name for _, name in sorted((top * b - bottom * a, name) for name, a, b in lines)]


def knapsack(instance, better_of=False):
    capacity = number(instance.capacity)
    unit = grid(capacity) if capacity else Fraction(1)
    items = [
        (number(value), number(size))
        for value, size in zip(instance.values, instance.sizes, strict=True)
        if not math.isnan(size) and number(value) > 0 and number(size) <= capacity
    ]
    lines = [(i, log(value), log(size)) for i, (value, size) in enumerate(items) if size > 0]
    whole = [round(Fraction(size) / unit) for _, size in items]

    def run(parameter):
        left = round(Fraction(capacity) / unit)
        packed = [value for value, size in items if size == 0]
        for i in ordered(lines, parameter):
            if whole[i] <= left:
                left -= whole[i]
                packed.append(items[i][0])
        single = max((value for value, _ in items), default=0.0) if better_of else 0.0
        return max(math.fsum(packed), single)

    return run


def independent_set(instance, adaptive=False):
    weights = {v: number(w) for v, w in enumerate(instance.weights.tolist()) if number(w) > 0}
    beside = {v: set() for v in weights}
    for u, v in instance.edges.tolist():
        if u != v and u in weights and v in weights:
            beside[u].add(v)
            beside[v].add(u)

    def run(parameter):
        left, taken = set(weights), []
        while left:
            degree = {v: len(beside[v] & left if adaptive else beside[v]) for v in left}
            best = ordered([(v, log(weights[v]), log(1 + degree[v])) for v in left], parameter)[0]
            taken.append(weights[best])
            left -= beside[best] | {best}
        return math.fsum(taken)

    return run


def auction(instance):
    bids = {}
    for bid, (price, bundle) in enumerate(zip(instance.prices.tolist(), instance.bundles, strict=True)):
        if number(price) > 0:
            real = [good for good in bundle if instance.goods is None or good < instance.goods]
            bids[bid] = (number(price), frozenset(bundle), max(len(real), 1))
    lines = [(bid, log(price), log(size)) for bid, (price, _, size) in bids.items()]

    def run(parameter):
        sold, paid = set(), []
        for bid in ordered(lines, parameter):
            price, bundle, _ = bids[bid]
            if not bundle & sold:
                sold |= bundle
                paid.append(price)
        return math.fsum(paid)

    return run


def routing(instance):
    table = instance.distances.tolist()
    longest = max((d for row in table for d in row if math.isfinite(d)), default=0.0)
    table = [[number(longest if d == math.inf else d) for d in row] for row in table]
    mean = [[(table[i][j] / 2 + table[j][i] / 2) for j in range(len(table))] for i in range(len(table))]
    longest = max(map(max, mean))
    unit = grid(2 * longest) if longest else Fraction(1)
    far = [[round(Fraction(d) / unit) for d in row] for row in mean]
    capacity = number(instance.capacity)
    demands = [Fraction(number(demand)) for demand in instance.demands.tolist()]
    pairs = [(i, j) for i in range(1, len(far)) for j in range(i + 1, len(far))]
    lines = [(pair, far[0][pair[0]] + far[0][pair[1]], far[pair[0]][pair[1]]) for pair in pairs]

    def run(parameter):
        routes = {i: [i] for i in range(1, len(far))}
        for i, j in ordered(lines, parameter):
            if far[0][i] + far[0][j] <= Fraction(parameter) * far[i][j]:
                break
            one, other = routes[i], routes[j]
            load = sum(demands[k - 1] for k in one + other)
            if one is other or load > capacity or i not in (one[0], one[-1]) or j not in (other[0], other[-1]):
                continue
            joined = (one if one[-1] == i else one[::-1]) + (other if other[0] == j else other[::-1])
            routes.update(dict.fromkeys(joined, joined))
        rounds = {id(route): [0, *route, 0] for route in routes.values()}.values()
        return -float(unit * sum(far[u][v] for tour in rounds for u, v in pairwise(tour)))

    return run
