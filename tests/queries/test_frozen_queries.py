"""What a query set or a partition holds cannot be changed after it was checked."""

import numpy as np
import pytest

from adyton.queries import Cells, Explicit, Grid, Hierarchy, OnGroups, Partition, Prefix, Ranges, Weighted
from over_cases import over


def test_a_query_set_keeps_its_own_copy():
    coefficients = np.array([1, 2, 3])
    queries = Explicit(3, [0, 0, 0], [0, 1, 2], coefficients, 1)
    coefficients[:] = 100
    assert queries.sensitivity() == 3
    weights = np.ones(2)
    weighted = Weighted(Prefix(2), weights)
    weights[:] = 5
    assert (weighted @ [1, 1]).tolist() == [1, 2]
    with pytest.raises(AttributeError):
        queries.length = 2


TREE = Hierarchy(3, [[0, 3], [0, 1, 3]], [2, 1, 0], [0, 1])
FIELDS = {
    "explicit rows": Explicit(2, [0], [1], [1], 1).places,
    "explicit columns": Explicit(2, [0], [1], [1], 1).columns,
    "explicit coefficients": Explicit(2, [0], [1], [1], 1).coefficients,
    "labels": Partition([0, 1]).labels,
    "lower bounds": Ranges(4, [0], [1]).lower,
    "upper bounds": Ranges(4, [0], [1]).upper,
    "boundaries": TREE.boundaries[1],
    "children": TREE.children[0],
    "order": TREE.order,
    "measured blocks": TREE.measured,
    "edges": Grid(4, [[0, 1, 4]]).edges[0],
    "cells": Cells(4, [2]).places,
    "first cells": OnGroups(Prefix(2), Partition([0, 1])).first,
}


@over(FIELDS)
def test_arrays_are_read_only_for_good(name):
    with pytest.raises(ValueError, match="read-only"):
        FIELDS[name][0] = 9
    with pytest.raises(ValueError, match="WRITEABLE"):
        FIELDS[name].flags.writeable = True
