"""Looks at counts compare the sums of an algorithm with those of the same noisy cells."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton_lab.bench.looks_counts import _apart, _Case, _measured, looks


def test_every_part_is_measured_beside_noisy_and_denoised_cells():
    counts = np.random.default_rng(1).poisson(9.0, (40,))
    case = _Case("made up", counts, True, {"tens": np.arange(40) // 10})
    found = {look.part: look for look in _measured(case, "1", 2)}
    cells = {f"cells: {kind}" for kind in ("all", "largest", "farthest from their neighbours")}
    assert set(found) == {"total", "tens", "upper tail"} | cells
    assert found["tens"].answers == 4
    for look in found.values():
        assert look.ratio == pytest.approx(look.error / max(min(look.alone, look.raw), 1e-12))
        assert 0 <= look.holds <= 100


def test_the_cell_that_differs_from_both_neighbours_is_farthest():
    line = np.array([5, 5, 9, 5, 5, 1, 1])
    assert int(np.argmax(_apart(line))) == 2


def test_looks_are_for_public_data():
    with pytest.raises(BadInput):
        looks(data="somewhere", public=False)
