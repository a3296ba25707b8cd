"""Uniform integers: what is refused, and what comes out. False alarm 10⁻⁹ for each comparison."""

import numpy as np
import pytest
from noise_tapes import tape_of

from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import uniform_array, uniform_integer
from adyton_lab.audit.statistical import counts_fit
from over_cases import over


@pytest.mark.parametrize(
    ("bound", "words", "expected"),
    [
        (3 * 2**62, [3 * 2**62, 2**64 - 1, 3 * 2**62 - 1, 5], [3 * 2**62 - 1, 5]),
        (3, [3, 7, 11, 2, 4 + 1], [2, 1]),
        (2**64, [2**64 - 1, 0], [2**64 - 1, 0]),
        (2**63 + 1, [2**63 + 1, 2**63, 17], [2**63, 17]),
        (1000, [1000, 1023, 999, 2**32 + 24], [999, 24]),
    ],
)
def test_words_at_or_above_the_bound_are_refused(bound, words, expected):
    assert uniform_array(tape_of(words), 2, bound).tolist() == expected
    one_by_one = tape_of(words)
    assert [uniform_integer(one_by_one, bound) for _ in range(2)] == expected


@over([1, 2, 3, 5, 1000, 2**31 + 1, 3 * 2**61, 2**63, 3 * 2**62, 2**64, 2**64 + 1, 2**200])
def test_arrays_and_single_draws_read_the_same_words(bound):
    together, apart = tape_of([], chunk=5), tape_of([])
    assert uniform_array(together, 40, bound).tolist() == [uniform_integer(apart, bound) for _ in range(40)]
    assert together.word() == apart.word()


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
@pytest.mark.parametrize("bound", [2, 3, 10, 1000, 3 * 2**61, 3 * 2**62, 2**64, 5 * 2**100 + 3])
def test_values_are_equally_likely(source, bound):
    """With a remainder of a 64-bit word, the first third of the range below 3·2^62 would be twice as likely."""
    draws = 20_000 if bound > 2**64 else 100_000
    sample = source.uniform_integers(draws, bound)
    assert sample.dtype == (np.int64 if bound <= 2**63 else object)
    assert min(sample) >= 0
    assert max(sample) < bound
    parts = min(bound, 30)
    classes = [int(value) * parts // bound for value in sample]
    sizes = [-(-(k + 1) * bound // parts) - -(-k * bound // parts) for k in range(parts)]
    assert counts_fit(np.bincount(classes, minlength=parts), [size / bound for size in sizes]) > 1e-9
    if bound > 2**40:
        low = np.array([int(value) % 16 for value in sample])
        assert counts_fit(np.bincount(low, minlength=16), np.full(16, 1 / 16)) > 1e-9


def test_one_value_needs_no_words():
    tape = tape_of([])
    assert uniform_array(tape, 5, 1).tolist() == [0] * 5
    assert uniform_integer(tape, 1) == 0
    assert tape.words.size == 0
