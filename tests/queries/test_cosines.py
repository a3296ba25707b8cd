"""Cosine waves with whole coefficients: what they are, and that every way of adding them up is exact."""

import functools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.fft import dct

from adyton.errors import BadInput
from adyton.queries import cosines as module
from adyton.queries.cosines import Cosines

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 20, 24, 33, 64, 96]
FEW = {(1, 1), (2, 2), (3, 2), (5, 1), (7, 6), (8, 8), (12, 4), (13, 12), (24, 8), (33, 33), (64, 63), (96, 2)}
"""Powers of two, odd numbers and products of both, with one wave, some and all: what every run tries."""
SHAPES = [
    pytest.param(n, count, marks=[] if (n, count) in FEW else [pytest.mark.full])
    for n in SIZES
    for count in sorted({1, min(2, n), max(1, n // 3), max(1, n - 1), n})
]


@functools.cache
def matrix(cells, count):
    """The coefficients one by one, in Python integers, from the definition and the first quarter of the wave."""
    bits = Cosines(cells, 1).bits
    top = 2**bits * math.sqrt(2 / cells)

    def entry(angle):
        angle %= 4 * cells
        angle = min(angle, 4 * cells - angle)
        sign, angle = (1, angle) if angle <= cells else (-1, 2 * cells - angle)
        return 0 if angle == cells else sign * round(top * math.cos(math.pi * angle / (2 * cells)))

    first = [round(2**bits / math.sqrt(cells))] * cells
    return [first] + [[entry((2 * j + 1) * k) for j in range(cells)] for k in range(1, count)]


@pytest.fixture(autouse=True, params=["folded", "directly"])
def way(request, monkeypatch):
    """Small domains are not worth folding: every test runs with them folded down to one cell, too."""
    if request.param == "folded":
        monkeypatch.setattr(module, "_DIRECT", 0)
    return request.param


def products(rows, x):
    return [sum(a * int(b) for a, b in zip(row, x, strict=True)) for row in rows]


def drawn(random, length, size):
    numbers = [int(share * size) for share in random.choice([-1.0, 1.0, 0.75, 0.1], length)]
    return np.array(numbers, dtype=np.int64 if size < 2**62 else object)


@pytest.mark.parametrize(("cells", "count"), SHAPES)
def test_coefficients_are_rounded_waves(cells, count):
    queries, rows = Cosines(cells, count), matrix(cells, count)
    assert queries.shape == (count, cells)
    waves = dct(np.eye(cells), norm="ortho", axis=0)[:count] * 2.0**queries.bits
    for number in range(count):
        assert queries.row(number).tolist() == rows[number]
        assert np.abs(queries.row(number) - waves[number]).max() <= 0.5 + 1e-6
    assert queries.largest_coefficient() >= max(abs(entry) for row in rows for entry in row)
    assert queries.largest_row_sum() >= max(sum(map(abs, row)) for row in rows)


@pytest.mark.parametrize("cells", [1, 5, 8, 30])
def test_the_table_is_correctly_rounded(cells):
    """Against 40 digits: a Taylor series in decimals, so that double precision has not decided a rounding."""
    queries = Cosines(cells, cells)
    table = module._table(cells, queries.bits)
    with localcontext() as context:
        context.prec = 40
        pi = Decimal("3.141592653589793238462643383279502884197")
        top = Decimal(2) ** queries.bits * (Decimal(2) / cells).sqrt()
        for m in range(cells):
            angle, term, value = pi * m / (2 * cells), Decimal(1), Decimal(1)
            for power in range(1, 30):
                term *= -angle * angle / ((2 * power - 1) * (2 * power))
                value += term
            assert abs(top * value - int(table[m])) <= Decimal("0.5") + Decimal("1e-9")


@pytest.mark.parametrize(("cells", "count"), SHAPES)
def test_answers_and_transposes_are_exact(cells, count):
    """32-bit, 64-bit and longer numbers, each against Python integers."""
    queries, rows = Cosines(cells, count), matrix(cells, count)
    columns = [list(column) for column in zip(*rows, strict=True)]
    absolute = [[abs(entry) for entry in column] for column in columns]
    for size in (1, 10**3, 2**31 - 1, 2**31, 2**40, 2**53, 2**62, 2**90):
        random = np.random.default_rng(cells * 1000 + count)
        x, y = (drawn(random, length, size) for length in (cells, count))
        assert (queries @ x).tolist() == products(rows, x), size
        assert (queries @ np.stack([x, 0 * x, -x]))[2].tolist() == [-one for one in products(rows, x)], size
        assert queries.transpose(y).tolist() == products(columns, y), size
        assert queries.column_sums(np.abs(y)).tolist() == products(absolute, np.abs(y)), size


@pytest.mark.parametrize(("cells", "count"), SHAPES)
def test_sensitivity_and_energy_are_exact(cells, count):
    queries, rows = Cosines(cells, count), matrix(cells, count)
    columns = list(zip(*rows, strict=True))
    assert queries.sensitivity() == max(sum(map(abs, column)) for column in columns)
    assert queries.column_energy() == max(sum(entry**2 for entry in column[1:]) for column in columns)
    slack = 1 + count / 2**queries.bits * math.sqrt(cells)
    assert queries.sensitivity() <= math.sqrt(count) * 2**queries.bits * slack


@pytest.mark.parametrize("cells", [4, 64, 96, 97])
def test_doubles(cells):
    queries = Cosines(cells, cells - 1)
    dense = np.array(matrix(cells, cells - 1), dtype=np.float64)
    x, y = (np.random.default_rng(cells).normal(size=(3, 2, length)) for length in (cells, cells - 1))
    scale = 2.0**queries.bits
    np.testing.assert_allclose(queries @ x / scale, x @ dense.T / scale, atol=1e-12)
    np.testing.assert_allclose(queries.transpose(y) / scale, y @ dense / scale, atol=1e-12)


def test_mirrored_cells_have_equal_or_opposite_coefficients():
    for cells in (9, 16):
        dense = np.concatenate(list(Cosines(cells, cells).rows()))
        np.testing.assert_array_equal(dense[::2], dense[::2, ::-1])
        np.testing.assert_array_equal(dense[1::2], -dense[1::2, ::-1])


@pytest.mark.parametrize("size", [4, 8, 1024])
def test_odd_numbers_are_powers_of_five_up_to_their_sign(size):
    powers, places, signs = module._powers(size)
    for odd, (place, sign) in enumerate(zip(places.tolist(), signs.tolist(), strict=True)):
        number, power = 2 * odd + 1, pow(5, place, 4 * size)
        opposite = 0 if sign == 1 else 2 * size
        assert (power - number - opposite) % (4 * size) == 0 or (power + number - opposite) % (4 * size) == 0
    assert sorted(places.tolist()) == list(range(size // 2))
    assert powers.tolist() == [pow(5, a, 4 * size) for a in range(size)]


@pytest.mark.parametrize("cells", [1, 2, 7, 64, 1000, 4096])
def test_the_inverse_brings_the_cells_back(cells):
    x = np.random.default_rng(cells).integers(0, 10**6, cells)
    queries = Cosines(cells, cells)
    np.testing.assert_allclose(queries.inverse(queries @ x), x, atol=0.5)
    few = Cosines(cells, 1 + cells // 2)
    kept = dct(x.astype(float), norm="ortho")
    kept[few.count :] = 0
    np.testing.assert_allclose(few.inverse(few @ x), dct(kept, type=3, norm="ortho"), atol=0.5)


@pytest.mark.parametrize("cells", [1000, 1024])
def test_both_ways_agree_on_larger_domains(cells, way):
    """Rows of all kinds at once, against the rows themselves."""
    queries = Cosines(cells, cells - 3)
    x = np.random.default_rng(cells).integers(0, 1000, cells)
    dense = np.concatenate(list(queries.rows())).astype(np.int64)
    np.testing.assert_array_equal(queries @ x, dense @ x)
    np.testing.assert_array_equal(queries.transpose(x[: queries.count]), x[: queries.count] @ dense)
    assert queries.sensitivity() == np.abs(dense).sum(axis=0).max()


def test_nothing_wraps_at_the_largest_sums():
    """All rows at the top of the wave, with counts that just fit 64 bits and one more."""
    queries = Cosines(64, 64)
    edge = (1 << 62) // queries.largest_row_sum()
    rows = matrix(64, 64)
    for count in (edge - 1, edge, edge + 1, 2 * edge):
        for sign in (np.ones(64, dtype=np.int64), np.sign(queries.row(63)).astype(np.int64)):
            assert (queries @ (count * sign)).tolist() == products(rows, count * sign)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cosines((2, 2), 1), "Use Kronecker"),
        (lambda: Cosines(4, 5), "4 frequencies"),
        (lambda: Cosines(4, 0), "at least 1"),
        (lambda: Cosines(4, 2.0), "whole number"),
        (lambda: Cosines(0, 1), "at least 1"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_words():
    assert str(Cosines(4096, 12)) == "12 cosine waves of 4,096 cells"
    assert Cosines(8, 3) == Cosines((8,), 3)
