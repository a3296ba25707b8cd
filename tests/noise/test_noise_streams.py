"""The compiled sampler and the Python one are the same function of the same words, however the words arrive."""

import re
from fractions import Fraction

import numba
import numpy as np
import pytest
from noise_tapes import poor_words, tape_of

from adyton import compiling
from adyton.noise import exact, laplace
from adyton.noise.exact import TapeDraws, permute_and_flip, permute_and_flip_compiled, whole_gaps
from adyton.noise.laplace import laplace_compiled, laplace_in_python
from adyton.noise.source import read_scales
from over_cases import over

SCALES = ["1/2", 1, "7/3", 100, 10**6, "0.3", Fraction(2**57 - 1, 2**55), Fraction(2**56, 2**55 + 1), 2**56 + 1]


def both(words, count, scale, *, chunk=4096, **limits):
    scales = read_scales(scale, (count,))
    compiled, python = tape_of(words, chunk=chunk), tape_of(words)
    fast = laplace_compiled(compiled, count, scales, **limits)
    slow = laplace_in_python(python, count, scales)
    return fast, slow, compiled.word() == python.word()  # the tapes stand at the same word


@over(SCALES, ["rich", "poor"])
def test_compiled_equals_python(scale, kind):
    fast, slow, together = both(poor_words(1) if kind == "poor" else [], 2000, scale)
    assert fast.dtype == np.int64
    assert fast.tolist() == slow.tolist()
    assert together


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_the_cut_into_chunks_does_not_matter(chunk):
    """A draw that meets the end of the buffer starts again from the same words."""
    fast, slow, together = both(poor_words(2, 1000), 700, ["1/2", "7/3", 10**6, 2**50, 1, 3, "0.1"] * 100, chunk=chunk)
    assert fast.tolist() == slow.tolist()
    assert together


def count_python_draws(monkeypatch):
    """How often an element is handed over to Python."""
    calls = []
    original = laplace.laplace_integer

    def counting(*arguments):
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(laplace, "laplace_integer", counting)
    return calls


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"restarts": 0}, np.exp(-1)),
        ({"restarts": 2}, np.exp(-3)),
        ({"numerator_limit": 100}, 1),
        ({"denominator_limit": 3}, 1),
    ],
)
def test_lower_limits_hand_over_and_change_nothing(monkeypatch, limits, share):
    scales = read_scales("1000/3", (3000,))
    slow = laplace_in_python(tape_of([]), 3000, scales)
    calls = count_python_draws(monkeypatch)
    fast = laplace_compiled(tape_of([]), 3000, scales, **limits)
    assert fast.tolist() == slow.tolist()
    assert abs(len(calls) / 3000 - share) < 0.06  # six standard deviations


def test_ties_and_carries_hand_over(monkeypatch):
    calls = count_python_draws(monkeypatch)
    laplace_compiled(tape_of(poor_words(3)), 1000, read_scales(5, (1000,)))
    assert len(calls) > 20  # ties
    calls.clear()
    laplace_compiled(tape_of([]), 4000, read_scales(2**56 + 1, (4000,)))
    assert 1 <= len(calls) <= 150  # the digits after the 63rd decide with probability 2^56/2^63, so 31 times
    calls.clear()
    laplace_compiled(tape_of([]), 4000, read_scales(10**6, (4000,)))
    assert not calls


THIRD = 2**63 // 3
ACCEPT = 0xFFFF_FFFF_0000_0000


@pytest.mark.parametrize(
    ("digits", "more", "scale", "expected"),
    [
        (THIRD, 2**65 // 3 - 1, 3, 0),
        (THIRD, 2**65 // 3 + 1, 3, 1),
        (THIRD, 2**65 // 3 + 1, "3/2", 0),  # 3E carries over to 1, but ⌊3E/2⌋ = 0 in any case
        (2 * THIRD + 1, 2**64 // 3 - 1, "3/2", 0),  # 3E carries over to 2, and 3E/2 to 1
        (2 * THIRD + 1, 2**64 // 3 + 1, "3/2", 1),
        (THIRD - 1, 2**64 - 1, 3, 0),
        (THIRD + 1, 0, 3, 1),
    ],
)
def test_a_carry_from_digits_not_yet_drawn(digits, more, scale, expected):
    fast, slow, together = both([digits << 1, ACCEPT, more], 1, scale)
    assert (fast.tolist(), slow.tolist(), together) == ([expected], [expected], True)


def test_minus_zero_is_drawn_again():
    minus_zero, plus_three, minus_three = 1, 2**63, 2**63 + 1
    for words, expected in [([minus_zero, plus_three], 3), ([minus_zero, minus_zero, minus_three], -3), ([0], 0)]:
        stream = [one for word in words for one in (word, ACCEPT)]
        fast, slow, _ = both(stream, 1, 6)
        assert fast.tolist() == slow.tolist() == [expected]


def test_no_floating_point_in_the_compiled_code():
    """Mixing signed and unsigned 64-bit integers by mistake would make Numba compute in doubles."""
    words, integers, one = np.zeros(4, dtype=np.uint64), np.ones(4, dtype=np.int64), np.uint64(1)
    for kernel, arguments in [
        (laplace.upper_word, (one, one)),
        (laplace.odd_run_in_words, (words, 4, one)),
        (laplace.floor_times, (words, 4, one, one, 0)),
        (laplace.draw_from_words, (words, 4, integers, 0, integers, integers, 0)),
        (exact.flip_from_words, (words, 4, integers, integers[:1] - 1, 1, one, one, 0)),
    ]:
        fresh = numba.njit(kernel.function)  # code that was loaded from the cache cannot be inspected
        fresh(*arguments)
        (code,) = fresh.inspect_llvm().values()
        assert "define" in code
        assert not re.search(r"\b(double|float)\b", code)


def test_upper_word_against_python():
    generator = np.random.default_rng(5)
    edges = [0, 1, 2**32 - 1, 2**32, 2**64 - 1]
    for a in [*edges, *generator.integers(0, 2**64, 40, dtype=np.uint64).tolist()]:
        for b in [*edges, *generator.integers(0, 2**57, 40, dtype=np.uint64).tolist()]:
            assert laplace.upper_word(np.uint64(a), np.uint64(b)) == a * b >> 64


@over(range(20), [0, 32])
def test_compiled_selection_equals_python(seed, restarts):
    generator = np.random.default_rng(seed)
    scores = generator.integers(-40, 1, 300)
    scores[0] = 5
    for chunk in (1, 5, 4096):
        compiled, python = tape_of(poor_words(seed, 600), chunk=chunk), tape_of(poor_words(seed, 600))
        gaps, sharpness = whole_gaps(scores, Fraction(3, 7))
        fast = permute_and_flip_compiled(compiled, gaps, sharpness, restarts=restarts)
        assert fast == permute_and_flip(TapeDraws(python), scores, Fraction(3, 7))
        assert compiled.word() == python.word()


def test_selection_hands_over_flips(monkeypatch):
    flips = []
    original = exact.TapeDraws.bernoulli_exp
    monkeypatch.setattr(
        exact.TapeDraws, "bernoulli_exp", lambda self, gamma: flips.append(gamma) or original(self, gamma)
    )
    gaps = np.full(2000, 50)
    gaps[1234] = 0
    assert permute_and_flip_compiled(tape_of([]), gaps, Fraction(1), restarts=0) == 1234
    assert len(flips) > 10


def test_a_place_without_a_writable_cache(monkeypatch):
    """On a read-only installation Numba finds no place for its cache: the samplers are compiled all the same."""
    honest = numba.njit

    def njit(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return honest(**options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiling.compiled(lambda value: value + 1)(2) == 3
