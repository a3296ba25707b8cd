"""Adyton's own choice beside diffprivlib: ``python beside_diffprivlib.py ours.json theirs.json``.

*ours.json* is what ``adyton bench classifiers --json`` printed for the same splits.
"""

import json
import sys

import numpy as np

with open(sys.argv[1]) as file:
    ours = {record["table"]: record for record in json.load(file) if record["method"] == "auto"}
with open(sys.argv[2]) as file:
    theirs = json.load(file)
names = list(next(iter(theirs.values())))
found = {"adyton auto": np.array([[ours[name]["accuracies"], ours[name]["areas"]] for name in names])}
for method, by_table in theirs.items():
    found[method] = np.array([np.array(list(by_table[name].values())).mean(axis=1).T for name in names])
print(f"accuracy; area on {len(names)} tables", *next(iter(theirs.values()))[names[0]])
for method, figures in found.items():
    accuracies, areas = figures.mean(axis=0)
    cells = [f"{accuracy:.1%}; {area:.3f}" for accuracy, area in zip(accuracies, areas, strict=True)]
    print(f"{method:24}", *cells)
