"""Adyton's own choice beside diffprivlib on the same splits: ``python beside_diffprivlib.py splits.npz theirs.json``.

The classifier behind ``auto`` learns with simulated noise from the same rows, at the same ε.
"""

import json
import sys
from fractions import Fraction

import numpy as np

from adyton.kernel.kernel import Kernel
from adyton.learning.registry import learner_named
from adyton.schema import Categorical, Schema

given = np.load(sys.argv[1])
with open(sys.argv[2]) as file:
    found = json.load(file)
learner = learner_named("auto")
names = list(dict.fromkeys(key.split(".")[0] for key in given.files))
epsilons = list(found["diffprivlib tree"][names[0]])
ours = found.setdefault("adyton auto", {})
for name in names:
    codes, sizes = given[f"{name}.codes"], given[f"{name}.sizes"].tolist()
    attributes = {f"a{place}": Categorical(list(range(size))) for place, size in enumerate(sizes[:-1])}
    schema = Schema({**attributes, "label": Categorical(list(range(sizes[-1])))})
    for epsilon in epsilons:
        scores = ours.setdefault(name, {}).setdefault(epsilon, [])
        pairs = zip(given[f"{name}.learning"], given[f"{name}.judging"], strict=True)
        for trial, (learning, judging) in enumerate(pairs):
            kernel = Kernel.simulated_table(codes[learning], schema, epsilon=epsilon, seed=trial)
            model = learner.fit(kernel.root, "label", Fraction(epsilon))
            scores.append(float((model.places(codes[judging, :-1]) == codes[judging, -1]).mean()))
print(f"{'accuracy in %':24}", *(f"{name} {epsilon}" for name in names for epsilon in epsilons), "mean")
for method, by_table in found.items():
    cells = [100 * np.mean(by_table[name][epsilon]) for name in names for epsilon in epsilons]
    print(f"{method:24}", *(f"{cell:.1f}" for cell in cells), f"{np.mean(cells):.2f}")
