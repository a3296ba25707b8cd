"""Random questions on random schemas, against a count of the cells one by one."""

import itertools

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.tasks import as_queries

LEVELS = (["F", "M", "X"], [0, 1, 2, 7], [False, True])


def _attribute(random):
    """An attribute, and for each base cell the first and the last value in it (None where there is no order)."""
    policies = {"nulls": str(random.choice(["drop", "level"])), "outside": str(random.choice(["drop", "other"]))}
    kind = random.integers(4)
    if kind == 0:
        low, step, base = int(random.integers(-9, 9)), int(random.integers(1, 5)), int(random.integers(1, 6))
        step *= int(random.choice([1, 10**10]))
        high = low + step * base - 1 - int(random.integers(step))
        starts = range(low, high + 1, step)
        return ad.Integer(low, high, step=step, **policies), [(s, min(s + step - 1, high)) for s in starts]
    if kind == 1:
        low, width, bins = random.normal(0, 10), 10 ** random.uniform(-3, 3), int(random.integers(1, 6))
        edges = [low + width * place / bins for place in range(bins + 1)]
        return ad.Numeric(low, low + width, bins=bins, **policies), list(itertools.pairwise(edges))
    if kind == 2:
        edges = np.cumsum(10 ** random.uniform(-2, 8, random.integers(2, 6))).tolist()
        return ad.Numeric(edges=edges, **policies), list(itertools.pairwise(edges))
    return ad.Categorical(LEVELS[random.integers(3)], **policies), None


def _part(random, attribute, spans):
    """Something to ask of an attribute, and the cells that it means; None if it must be refused."""
    base = range(attribute.base_size)
    if spans is None or random.random() < 0.2:
        cells = set(random.choice(attribute.size, random.integers(1, attribute.size + 1)).tolist())
        labels = [attribute.labels[cell] for cell in cells]
        return (labels[0] if len(labels) == 1 else labels if random.random() < 0.5 else set(labels)), cells
    first, last = sorted(random.choice(base, 2).tolist())
    begin, end, cells = spans[first][0], spans[last][1], set(range(first, last + 1))
    if random.random() < 0.2:
        begin, cells = begin + ((spans[first][1] - begin) / 3 or 0.5), None
    elif random.random() < 0.2:
        begin, cells = None, set(range(last + 1))
    elif random.random() < 0.2:
        end, cells = None, set(range(first, attribute.base_size))
    return ((begin, end) if random.random() < 0.5 else {"from": begin, "to": end}), cells


def test_a_count_is_the_sum_of_the_cells_that_are_meant():
    random = np.random.default_rng(20)
    seen = {"counted": 0, "refused": 0}
    for _ in range(400):
        names = random.permutation(["from", "to", "age"])[: random.integers(1, 4)].tolist()
        made = {name: _attribute(random) for name in names}
        schema = ad.Schema({name: attribute for name, (attribute, _) in made.items()})
        table = random.integers(0, 100, schema.shape)
        asked = [name for name in names if random.random() < 0.8]
        parts = {name: _part(random, *made[name]) for name in asked}
        query = {name: part for name, (part, _) in parts.items()}
        if any(cells is None for _, cells in parts.values()):
            with pytest.raises(BadInput, match=r"no cell of|begins between"):
                as_queries(schema, query)
            seen["refused"] += 1
            continue
        meant = [parts[name][1] if name in parts else set(range(schema.attributes[name].size)) for name in names]
        count = sum(int(table[cell]) for cell in itertools.product(*meant))
        assert (as_queries(schema, query) @ table).tolist() == [count], (schema, query)
        if asked:
            assert (ad.QueryList([query]).workload(schema) @ table).tolist() == [count], (schema, query)
        seen["counted"] += 1
    assert min(seen.values()) > 50, seen
