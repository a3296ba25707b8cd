"""The benchmark of stripes: its factors are those that made the errors, and without data it is refused."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton_lab.bench import tables


def test_factors_are_found_again():
    random = np.random.default_rng(0)
    errors = []
    for fixed, shared in random.exponential(1, (40, 2)):
        noise = math.exp(random.normal(0, 0.01))
        errors.append(tables._Errors(noise * math.hypot(0.3 * fixed, 0.8 * shared), 1.0, fixed, shared))
    own, shared = tables._fitted(errors)
    assert own == pytest.approx(0.3, abs=0.03)
    assert shared == pytest.approx(0.8, abs=0.03)


def test_each_table_is_judged_by_the_others(monkeypatch, tmp_path):
    """On all tables but one stripes err by a tenth; on that one they are chosen as well, and err thrice as much."""
    monkeypatch.setattr(tables, "_read", lambda name, data, *, public: np.zeros((8, 2), dtype=int) + (name == "c"))
    monkeypatch.setattr(tables, "_errors", lambda x, *rest: tables._Errors(3.0 if x.any() else 0.1, 1.0, 1.0, 1e-9))
    monkeypatch.setattr(tables, "_FACTORS", tables._FACTORS[4::10])
    *each, last = tables._stripes(["a", "b", "c"], tmp_path, True, 1)
    assert {one.table: round(one.regret, 3) for one in each} == {"a": 1.0, "b": 1.0, "c": 3.0}
    assert last.regret == pytest.approx(5 / 3)
    json.dumps(asdict(last), allow_nan=False)


def test_without_a_folder_it_is_refused():
    with pytest.raises(BadInput, match="Give the folder"):
        tables.stripes()
