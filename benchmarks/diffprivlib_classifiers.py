"""diffprivlib's classifiers on the splits: ``python diffprivlib_classifiers.py splits.npz theirs.json``.

It runs in an environment with an older scikit-learn, and imports nothing of Adyton. The file has, by method, table and
ε, the accuracy and the area under the ROC curve of each split.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier
from sklearn.metrics import roc_auc_score

EPSILONS = (0.1, 0.3, 1.0, 3.0)


def scores(model, inputs, classes):
    """The accuracy, and the mean over the classes of the area, each class against all others."""
    probabilities = np.nan_to_num(model.predict_proba(inputs))
    areas = [
        roc_auc_score(classes == name, probabilities[:, place])
        for place, name in enumerate(model.classes_)
        if 0 < (classes == name).sum() < len(classes)
    ]
    return float(model.score(inputs, classes)), float(np.mean(areas))


warnings.simplefilter("ignore")
given = np.load(sys.argv[1])
found = {}
for name in dict.fromkeys(key.rsplit(".", 1)[0] for key in given.files):
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
                both = scores(model.fit(x[learning], y[learning]), x[judging], y[judging])
                found.setdefault(method, {}).setdefault(name, {}).setdefault(f"{epsilon:g}", []).append(both)
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
