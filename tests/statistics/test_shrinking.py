"""Means shrunk towards the whole: smaller errors, and intervals that hold on average whatever the groups are like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import adyton as ad
from adyton.errors import BadInput
from adyton.schema import Categorical, Integer, Schema
from adyton.statistics.parts import NoisyMoments
from adyton.statistics.shrinking import reach


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.5, 0.9])
def test_the_least_favourable_groups_are_covered(weight):
    """Two-point distributions of the bias with the assumed mean square: none misses more than 5%, and one does."""
    square, far = (1 - weight) / weight, float(reach(np.array([weight]), 0.95)[0])
    sizes = square * np.geomspace(1, 1e4, 4000)
    missed = [ndtr(np.sqrt(size) - far) + ndtr(-np.sqrt(size) - far) for size in (np.zeros(1), sizes)]
    worst = float(((1 - square / sizes) * missed[0] + square / sizes * missed[1]).max())
    assert 0.0490 < worst < 0.0505


@pytest.mark.parametrize("law", ["normal", "one apart"])
def test_errors_shrink_and_intervals_hold(law):
    """2,400 intervals, 60 groups in each of 40 runs: the mean of 40 coverages has a deviation of at most 0.01."""
    random, groups = np.random.default_rng(4), 60
    inside, before, after = [], [], []
    for _ in range(40):
        rows = random.geometric(1 / 60, groups).astype(float)
        apart = random.normal(0, 0.03, groups) if law == "normal" else np.where(np.arange(groups) == 7, 0.3, 0.0)
        means = np.clip(0.4 + apart, 0, 1)
        noisy = np.stack([rows * (1 - means), rows * means], axis=1) + random.laplace(0, 2, (groups, 2))
        moments = NoisyMoments(noisy, np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2.0, 0.0, 1.0, 0.0)
        shrunk = moments.shrunk_mean(0.95)
        inside.append(((shrunk.lower <= means) & (means <= shrunk.upper)).mean())
        before.append(np.square(moments.mean_place - means).mean())
        after.append(np.square(shrunk.estimate - means).mean())
    assert np.mean(after) < 0.6 * np.mean(before)
    assert np.mean(inside) > 0.95 - 5 * 0.01


def test_a_release_is_shrunk_saved_and_shown(tmp_path):
    rows = pd.DataFrame({"ward": list("abcdefgh") * 100, "age": np.arange(800) % 90})
    schema = Schema({"ward": Categorical(list("abcdefgh")), "age": Integer(0, 99)})
    session = ad.Session(rows, schema=schema, epsilon=1)
    release = session.release(ad.Mean("age", by="ward"), "0.5")
    shrunk = release.shrunk()
    plain, moved = release.to_frame(), shrunk.to_frame()
    whole = (plain["count"] * plain["mean"]).sum() / plain["count"].sum()
    assert ((moved["mean"] - whole).abs() < (plain["mean"] - whole).abs()).all()  # 8 means within 10 of 44, in 0 to 99
    assert moved["count"].tolist() == plain["count"].tolist()
    assert "Shrunk means" in str(shrunk.explain())
    shrunk.save(tmp_path / "kept")
    assert ad.load(tmp_path / "kept").to_frame().equals(shrunk.to_frame())
    for task in (ad.Mean("age"), ad.Sum("age", by="ward")):
        with pytest.raises(BadInput, match="at least 3 groups"):
            session.release(task, "0.1").shrunk()
