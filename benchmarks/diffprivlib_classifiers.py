"""diffprivlib's classifiers on the splits: ``python diffprivlib_classifiers.py splits.npz theirs.json``.

It runs in an environment with an older scikit-learn, and imports nothing of Adyton.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier

EPSILONS = (0.1, 0.5, 1.0, 2.0)

warnings.simplefilter("ignore")
given = np.load(sys.argv[1])
found = {}
for name in dict.fromkeys(key.split(".")[0] for key in given.files):
    codes, sizes = given[f"{name}.codes"], given[f"{name}.sizes"]
    x, y, classes = codes[:, :-1].astype(float), codes[:, -1], list(range(sizes[-1]))
    bounds = (np.zeros(len(sizes) - 1), (sizes[:-1] - 1).astype(float))
    for epsilon in EPSILONS:
        for trial, (learning, judging) in enumerate(
            zip(given[f"{name}.learning"], given[f"{name}.judging"], strict=True)
        ):
            models = {
                "diffprivlib tree": DecisionTreeClassifier(
                    epsilon=epsilon, bounds=bounds, classes=classes, random_state=trial
                ),
                "diffprivlib forest": RandomForestClassifier(
                    epsilon=epsilon, bounds=bounds, classes=classes, random_state=trial
                ),
                "diffprivlib GaussianNB": GaussianNB(epsilon=epsilon, bounds=bounds, random_state=trial),
            }
            for method, model in models.items():
                score = model.fit(x[learning], y[learning]).score(x[judging], y[judging])
                found.setdefault(method, {}).setdefault(name, {}).setdefault(str(epsilon), []).append(float(score))
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
