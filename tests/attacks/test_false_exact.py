"""Intervals and errors were called exact where they were not: beyond what was measured, and after a projection."""

import json
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.selector import Training
from adyton.choice.trained_selectors import TreeSelector
from adyton.noise import SimulatedNoise
from adyton.plans import plan_named
from adyton.queries import Identity, Marginals, Ranges, Stack, Total, Weighted
from adyton.result.intervals import NOT_MEASURED
from adyton.result.noise_model import NoiseModel
from saved_results import signed

SIDE = 13
"""Cubed, more cells than are solved by dense equations."""


@pytest.fixture(scope="module")
def three():
    """Three attributes, two of them equal in every row: pairs cannot be told from single attributes."""
    first = np.random.default_rng(0).integers(0, SIDE, 2000)
    table = pd.DataFrame({"a": first, "b": first, "c": (first + 1) % SIDE})
    schema = ad.Schema({name: ad.Integer(0, SIDE - 1) for name in "abc"})
    return ad.Session(table, schema=schema, epsilon=4, noise=SimulatedNoise(1))


@pytest.mark.parametrize("algorithm", ["auto", "hdmm"])
def test_pairs_of_attributes_of_which_single_ones_were_measured(three, algorithm):
    release = three.release(ad.Marginals(way=1), epsilon=1, algorithm=algorithm)
    singles, pairs = Marginals((SIDE,) * 3, way=1), Marginals((SIDE,) * 3, [(0, 1)])
    assert release.algorithm == "hdmm"
    assert release.expected_error.kind == "exact"
    assert release.noise.kind(singles) == release.noise.kind(Total((SIDE,) * 3)) == "exact"
    assert release.noise.kind(pairs) == release.noise.kind(Identity((SIDE,) * 3)) == "approximate"
    assert release.noise.kind(Stack([singles, pairs])) == "approximate"
    interval = release.interval(ad.workloads.Ranges((SIDE,) * 3, [[0, 0, 0]], [[3, 3, SIDE - 1]]), 0.9)
    assert interval.kind == "approximate"
    assert "do not follow from what was measured" in interval.meaning
    assert "formal guarantee" in interval.meaning


def test_counts_that_were_not_measured_have_no_bounds(three, tmp_path):
    """Bounds that are known to be wrong stand in no file, frame or report: of merged cells by any algorithm, too."""
    singles = three.release(ad.Marginals(way=1), epsilon="0.1", algorithm="hdmm", nonnegative=True)
    merged = three.release(ad.QueryList([{"a": (3, 7)}]), epsilon="0.1", algorithm="denoised-cells", reduce=True)
    for release, asked in ((singles, "tables.csv"), (merged, "answers.csv")):
        release.save(tmp_path / release.algorithm)
        cells = pd.read_csv(tmp_path / release.algorithm / "estimate.csv")
        assert cells["note"][0] == NOT_MEASURED
        assert not {"lower", "upper"} & set(cells)
        assert "lower" in pd.read_csv(tmp_path / release.algorithm / asked)
        with pytest.warns(UserWarning, match="do not follow"):
            frame = release.to_frame(release.schema.names, confidence=0.9, integer=True)
        assert not {"lower", "upper"} & set(frame)
        assert release.interval(release.workload).missing == ""


def test_cells_of_which_only_ranges_were_measured():
    """Too many cells for dense equations; ranges that tell few of them apart."""
    starts = np.arange(0, 4096, 512)[:, None]
    workload = Stack([Ranges(4096, starts, starts + 511), Ranges(4096, starts, starts + 200)])
    model = NoiseModel(plan_named("workload"), workload, F(1), np.zeros(4096))
    assert plan_named("workload").expected_error(workload, 1).kind == "estimate"
    assert model.kind() == model.kind(Total(4096)) == "exact"
    assert model.kind(Identity(4096)) == model.kind(Ranges(4096, [[0]], [[201]])) == "approximate"
    assert model.kind(Stack([workload, Weighted(Ranges(4096, [[0]], [[0]]), 1e-6)])) == "approximate"


def projecting_selector():
    names = ("identity", "uniform")
    about = Training(
        dimensions=1,
        algorithms=names,
        workloads=("identity",),
        corpus=("made-up",),
        epsilons=("1",),
        inputs=1,
        trials=2,
        date="2026-01-01",
        adyton="0",
    )
    few, many = (Leaf(best, {name: 1.0 + (name != best) for name in names}, 1) for best in ("uniform", "identity"))
    return TreeSelector(about, F(1, 100), {"identity": Split("scale", 0.5, few, many)})


def test_what_a_selector_projects_afterwards(tmp_path):
    """The noisy number of rows bounds the estimate: sparse cells are shrunk, by an amount that depends on the data."""
    x = np.zeros(256, dtype=int)
    x[::8] = 200
    table = pd.DataFrame({"v": np.repeat(np.arange(256), x)})
    session = ad.Session(table, schema=ad.Schema({"v": ad.Integer(0, 255)}), epsilon=4, noise=SimulatedNoise(2))
    release = session.release(ad.Histogram("v"), epsilon="0.5", selector=projecting_selector())
    assert release.algorithm == "identity"
    assert release.choice.finished
    assert release.noise.kind() == "approximate"
    assert release.expected_error.kind == "resampled"
    release.save(tmp_path / "kept")
    assert ad.Release.load(tmp_path / "kept").noise.kind() == "approximate"
    plain = release.to_dict()
    del plain["choice"]["finished"]  # a file that does not say
    (tmp_path / "old.json").write_text(json.dumps(signed(plain)))
    assert ad.Release.load(tmp_path / "old.json").noise.kind() == "approximate"
    shown = session.preview(ad.Histogram("v"), "0.5", selector=projecting_selector())
    assert shown.candidates["identity"].kind == "estimate"


@pytest.mark.parametrize("options", [{"nonnegative": True}, {"total": 5}], ids=str)
@pytest.mark.parametrize("algorithm", ["hb", "auto"])
def test_errors_of_what_is_changed_afterwards(three, algorithm, options):
    """Before spending as well: what follows least squares is not in the figure."""
    shown = three.preview(ad.Marginals(way=1), 1, algorithm=algorithm, **options)
    assert {error.kind for error in shown.candidates.values() if error is not None} <= {"upper mark", "noise only"}


def test_a_plan_with_a_program_of_its_own_is_not_called_exact():
    class Clipped(type(plan_named("identity"))):
        def run(self, x, workload, epsilon):
            return np.maximum(0, super().run(x, workload, epsilon))

    model = NoiseModel(Clipped(), Identity(8), F(1), np.zeros(8))
    assert model.kind() == "approximate"
    assert model.expected_error() is None
