"""A made-up table of 3,000 people, and releases from it with seeded noise."""

import numpy as np
import pandas as pd

import adyton as ad
from adyton.noise import SimulatedNoise


def releases(oldest):
    """A function that releases a task about people of up to this age."""
    random = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": random.binomial(oldest, 0.4, 3000),
            "sex": random.choice(["F", "M", None], 3000),
            "smokes": random.random(3000) < 0.3,
        }
    )
    schema = ad.Schema(
        {
            "age": ad.Integer(0, oldest),
            "sex": ad.Categorical(["F", "M"], nulls="level"),
            "smokes": ad.Boolean(),
        }
    )

    def release_of(task, algorithm="identity", epsilon="0.5", **options):
        session = ad.Session(table, schema=schema, epsilon=1, noise=SimulatedNoise(3))
        return session.release(task, epsilon, algorithm=algorithm, **options)

    return release_of
