"""Thresholding, and non-negativity that keeps the total."""

import numpy as np
import pytest

from adyton.denoising.thresholding import clip_and_rescale, cut_to_total, noise_threshold, threshold
from adyton.errors import BadInput


def test_threshold_keeps_what_is_above_and_nothing_else():
    y = np.array([[3.0, 2.0, -5.0], [1e12, 0.0, 2.1]])
    assert threshold(y, 2).tolist() == [[3, 0, 0], [1e12, 0, 2.1]]
    assert threshold(y, [[3.0], [0.0]]).tolist() == [[0, 0, 0], [1e12, 0, 2.1]]
    assert threshold([-1.0], -2).tolist() == [-1]


def test_noise_threshold_hides_most_empty_cells():
    """P(Lap(1/ε) > η·ln n/ε) = n^−η / 2, so of n = 10⁶ empty cells with η = 0.35 3972 ± 63 stay: 6 σ either way."""
    noise = np.random.default_rng(0).laplace(0, 2, 10**6)
    assert abs(np.count_nonzero(threshold(noise, noise_threshold(10**6, epsilon=0.5))) - 3972) < 6 * 63
    assert noise_threshold(1, epsilon=1) == 0


@pytest.mark.parametrize("change", [clip_and_rescale, cut_to_total])
def test_total_is_kept_and_order_too(change):
    rng = np.random.default_rng(1)
    y = rng.normal(2, 10, (3, 4, 50))
    for given in (None, np.array([7.0, 0.5, 11.0, 0.0])):
        found = change(y, given)
        goal = np.maximum(y.sum(axis=-1) if given is None else np.broadcast_to(given, (3, 4)), 0)
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=-1), goal, rtol=1e-12, atol=1e-12)
        order = np.argsort(y, axis=-1)
        assert (np.diff(np.take_along_axis(found, order, axis=-1), axis=-1) >= 0).all()
    np.testing.assert_array_equal(change(y)[1, 2], change(y[1, 2]))


def test_rescaling_keeps_proportions():
    found = clip_and_rescale([8.0, 4.0, -3.0, -1.0])
    np.testing.assert_allclose(found, [16 / 3, 8 / 3, 0, 0])


def test_cutting_keeps_the_large_cells():
    assert cut_to_total([8.0, 4.0, 1.0, -3.0]).tolist() == [8, 2, 0, 0]
    assert cut_to_total([3.0, 5.0], 100).tolist() == [3, 5]


@pytest.mark.parametrize("change", [clip_and_rescale, cut_to_total])
def test_edges(change):
    assert change([-4.0]).tolist() == [0]
    assert change([4.0]).tolist() == [4]
    assert change([0.0, 0.0]).tolist() == [0, 0]
    assert change([1e12, 5.0, -5.0]).sum() == 1e12
    assert change([1.0, 2.0], -3).tolist() == [0, 0]
    assert clip_and_rescale([-1.0, -2.0], 6).tolist() == [3, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: threshold([np.nan], 0),
        lambda: threshold([1], np.inf),
        lambda: clip_and_rescale(3.0),
        lambda: cut_to_total([], 1),
        lambda: clip_and_rescale([1.0], np.nan),
        lambda: noise_threshold(0, epsilon=1),
        lambda: noise_threshold(5, epsilon=0),
    ],
)
def test_bad_input(wrong):
    with pytest.raises(BadInput, match="must"):
        wrong()
