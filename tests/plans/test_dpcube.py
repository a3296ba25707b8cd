"""DPCube: boxes from the first answers, measured again, both averaged by their precision."""

from fractions import Fraction as F

import numpy as np
import pytest
from noisy_decisions import run, watch

from adyton.errors import BadInput
from adyton.partitions import kd_partition
from adyton.queries import Stack


@pytest.mark.parametrize("shape", [(64,), (8, 16)])
def test_least_squares_for_cells_that_are_equal_inside_a_box(monkeypatch, shape):
    seen = watch(monkeypatch)
    x = np.random.default_rng(0).poisson(np.where(np.arange(128) < 50, 1, 9))[: np.prod(shape)].reshape(shape)
    kernel, estimate = run("dpcube", x, epsilon="1/3", partition_share="1/4")
    cells, boxes = seen
    assert (cells.epsilon, boxes.epsilon, kernel.spent) == (F(1, 12), F(1, 4), F(1, 3))
    labels = boxes.mapping.partition.labels
    np.testing.assert_array_equal(labels, kd_partition(cells.answers, shape, 6 * cells.variances[0]).labels)
    spread = np.eye(labels.max() + 1)[labels]  # cells from the level of each box
    queries = Stack([cells.queries, boxes.on_first_vector()]) @ spread.T
    noise = np.concatenate([cells.variances, boxes.variances])
    answers = np.concatenate([cells.answers, boxes.answers])
    scaled = queries.T / np.sqrt(noise)[:, None]
    level = np.linalg.lstsq(scaled, answers / np.sqrt(noise), rcond=None)[0]
    np.testing.assert_allclose(estimate.reshape(-1), spread @ level, rtol=1e-8, atol=1e-8)


def test_flat_regions_are_found():
    x = np.zeros((64, 64), dtype=int)
    x[16:32, 32:48] = 50
    error = np.mean([np.linalg.norm(run("dpcube", x, seed=seed)[1] - x) for seed in range(5)])
    assert error < 30  # plain noise has 90


@pytest.mark.parametrize("options", [{"partition_share": 1}, {"price": 0}, {"price": "dear"}])
def test_bad_options_spend_nothing(monkeypatch, options):
    seen = watch(monkeypatch)
    with pytest.raises(BadInput, match=next(iter(options))):
        run("dpcube", np.arange(4), **options)
    assert not seen
