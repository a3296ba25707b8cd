"""Requests of every kind, small and quick, to be ended early."""

import numpy as np
import pandas as pd

import adyton as ad

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 63),
        "sex": ad.Categorical(["F", "M"]),
        "dep": ad.Categorical(list("abc")),
        "cost": ad.Numeric(0, 100, bins=16),
        "d": ad.Integer(0, 3),
    },
    unit="id",
    rows_per_unit=3,
)
KINDS = {
    "count": lambda s: s.count(1),
    "units": lambda s: s.count_units(1, where="age > 3"),
    "identity": lambda s: s.release(ad.Histogram("age"), 1, algorithm="identity", misfits=True),
    "dawa": lambda s: s.release(ad.Ranges("age"), 1, algorithm="dawa"),
    "mwem": lambda s: s.release(ad.Ranges("age"), 1, algorithm="mwem"),
    "auto": lambda s: s.release(ad.Ranges("age"), 1),
    "rows per unit": lambda s: s.release(ad.RowsPerUnit(10), 1),
    "mean": lambda s: s.release(ad.Mean("cost", by="dep"), 1, misfits=True),
    "cdf": lambda s: s.release(ad.Quantiles("age", by="sex"), 1, algorithm="cdf"),
    "summary": lambda s: s.release(ad.Summary("cost", by="dep"), 1),
    "pairs": lambda s: s.release(ad.Marginals(way=2), 1, algorithm="select-pairs", pairs=2),
    "privbayes": lambda s: s.release(ad.Marginals(way=2), 1, algorithm="privbayes"),
    "fit": lambda s: s.fit(ad.Classifier("dep"), 1),
    "forest": lambda s: s.fit(ad.Classifier("dep", method="fletcher-islam"), 1),
}
FIXED = {kind: kind not in ("auto", "pairs", "privbayes", "fit", "forest") for kind in KINDS}
"""Whether the number of measurements is the same whatever the noise."""


def rows():
    """Six hundred rows of about two hundred people."""
    random = np.random.default_rng(1)
    count = 600
    return pd.DataFrame(
        {
            "id": random.integers(0, 200, count),
            "age": random.integers(0, 64, count),
            "sex": random.choice(["F", "M"], count),
            "dep": random.choice(list("abc"), count),
            "cost": random.random(count) * 100,
            "d": random.integers(0, 4, count),
        }
    )


def written(folder):
    """The folder, with the rows in t.csv and the schema in s.toml."""
    rows().to_csv(folder / "t.csv", index=False)
    (folder / "s.toml").write_text(SCHEMA.to_toml())
    return folder
