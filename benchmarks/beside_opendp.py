"""Adyton's own choice beside OpenDP's MST and AIM on the same rows: ``python beside_opendp.py rows.npz theirs.json``.

The release behind ``auto`` with simulated noise, at the same ε; the mean total variation over all pairs.
"""

import itertools
import json
import sys
import time
from fractions import Fraction

import numpy as np

from adyton.marginals.program import TableSet
from adyton.schema import Categorical, Integer, Schema
from adyton_lab.bench.tables import distance, run, true_pairs
from adyton_lab.corpus.tables import PublicTable

CATEGORICAL = {"adult": {1, 3, 4, 5, 6, 7, 8, 12, 13}}
"""The places of attributes whose cells have no order."""

given = np.load(sys.argv[1])
with open(sys.argv[2]) as file:
    theirs = json.load(file)
ours = {}
print(f"{'':22} error    seconds   ours: error    seconds   times the error   times the seconds")
for key, found in theirs.items():
    method, name, epsilon = key.split()
    if (name, epsilon) not in ours:
        sizes = given[f"{name}.sizes"].tolist()
        unordered = CATEGORICAL.get(name, set())
        schema = Schema(
            {
                f"a{place}": Categorical(list(range(size))) if place in unordered else Integer(0, size - 1)
                for place, size in enumerate(sizes)
            }
        )
        table = PublicTable(name, schema, given[f"{name}.codes"])
        wanted = TableSet.of(schema, list(itertools.combinations(schema.names, 2)))
        begun = time.process_time()
        _, pairs = run("auto", table, wanted, Fraction(epsilon), 0)
        ours[name, epsilon] = distance(pairs, true_pairs(table)), time.process_time() - begun
    error, seconds = ours[name, epsilon]
    far = "" if found["finished"] else "   (not finished)"
    print(
        f"{key:22} {found['error']:.4f} {found['seconds']:9.1f}        {error:.4f} {seconds:10.2f}"
        f"   {error / found['error']:15.2f}   {seconds / found['seconds']:17.4f}{far}"
    )
