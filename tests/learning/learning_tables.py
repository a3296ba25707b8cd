"""A small public table with a label that learning tests share, and the learners that they run."""

import numpy as np

import adyton as ad
from adyton.kernel.kernel import Kernel
from adyton.learning.registry import learner_named

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 39, outside="clamp", nulls="level"),
        "smoker": ad.Boolean(),
        "town": ad.Categorical(["a", "b", "c"], outside="other"),
        "ill": ad.Categorical(["no", "yes", "unsure"]),
    }
)
LEARNERS = [
    ("naive-bayes", {}),
    ("naive-bayes", {"histograms": "auto"}),
    ("naive-bayes", {"histograms": "dawa", "workload": "identity"}),
    ("naive-bayes", {"histograms": "hb", "model": "gaussian", "smoothing": "half"}),
    ("contingency", {}),
    ("workload", {}),
    ("workload-ls", {}),
    ("select-ls", {}),
]
NAMES = [" ".join([name, *map(str, options.values())]) for name, options in LEARNERS]


def rows(number=2000, seed=0):
    """Codes of rows whose class depends on the age and on smoking."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, 3, number)
    age = np.clip(random.normal(10 + 9 * ill, 4), 0, 39).astype(int)
    smoker = (random.random(number) < 0.2 + 0.25 * ill).astype(int)
    return np.column_stack([age, smoker, random.integers(0, 4, number), ill])


def columns(codes):
    """The same rows as values."""
    towns = np.array(["a", "b", "c", "elsewhere"])
    return {"age": codes[:, 0], "smoker": codes[:, 1] == 1, "town": towns[codes[:, 2]]}


def labels(codes):
    return np.array(["no", "yes", "unsure"])[codes[:, 3]]


def kernel(codes, epsilon=1, seed=0, schema=SCHEMA):
    return Kernel.simulated_table(codes, schema, epsilon=epsilon, seed=seed)


def fitted(codes, learner, options, epsilon=1, seed=0):
    return learner_named(learner, **options).fit(kernel(codes, epsilon, seed).root, "ill", epsilon)
