"""Exact numbers: read as written, refused when they are no numbers, shown as a person would write them."""

from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import BadInput
from adyton.exact import STEPS, as_number, budget, display, exact, on_grid, positive, rounded_down, share


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (0.1, F(1, 10)), ("0.1", F(1, 10)), (Decimal("0.1"), F(1, 10)), (np.float64(0.1), F(1, 10)), ("1/3", F(1, 3)),
        (" 1 / 3 ", F(1, 3)), (np.int8(3), F(3)), ("1e-3", F(1, 1000)), (F(2, 7), F(2, 7)), ("-2", F(-2)), (-0.0, F(0)),
        (0.00012345678901234567, F("0.00012345678901234567")), (1e-20, F(1, 10**20)), (2**64 - 1, F(2**64 - 1)),
        (F(1, 2**64 - 1), F(1, 2**64 - 1)), (1 - F(1, STEPS), 1 - F(1, STEPS)),
    ],
)  # fmt: skip
def test_numbers_are_read_as_written(given, value):
    assert exact(given, "epsilon") == value
    assert exact(given, "epsilon", computed=True) == value


@pytest.mark.parametrize(
    "long", [2**64, -(2**64), 1e-300, 5e-324, 1.7e308, 10**100, F(1, 2**64 + 1), F(2**2046 + 1, 2**2047 + 1), "1e-40"]
)
def test_what_a_person_writes_is_short(long):
    assert exact(long, "scale", computed=True) == F(str(long))
    with pytest.raises(BadInput, match="epsilon has too many digits") as refused:
        exact(long, "epsilon")
    assert len(str(refused.value)) < 250


def test_budgets_lie_on_the_grid():
    for value in ("0.1", "1/3", "1/7", F(97, 100), 1e-20, 3):
        assert budget(value, "epsilon") == exact(value, "epsilon")
    for value in ("1/101", F(1, 2**64 - 1), F(2**63, 2**64 - 59)):
        assert 0 <= exact(value, "epsilon") - budget(value, "epsilon") < F(1, STEPS)
        assert on_grid(budget(value, "epsilon"))


@given(st.fractions(0, 1), st.integers(1, 2**64))
def test_the_parts_of_a_budget_fit_into_it(part, stability):
    whole = F(1, 2)
    parts = [rounded_down(part * whole / stability, stability), rounded_down((1 - part) * whole / stability, stability)]
    assert all(on_grid(stability * part) for part in parts)
    assert stability * sum(parts) <= whole < stability * sum(parts) + F(2, STEPS)


@pytest.mark.parametrize(
    "nonsense",
    [
        None, True, np.True_, "", "x", "nan", "inf", float("nan"), float("inf"), Decimal("nan"), Decimal("-inf"), [1],
        1j, b"1", "1e999999999", "1e-999999999", "9" * 5000, "1/0", "1/-3", "1//3", F(1, 2**3000), 10**1000, "0x10",
        object(),
    ],
)  # fmt: skip
def test_nonsense_is_refused(nonsense):
    with pytest.raises(BadInput, match="epsilon"):
        exact(nonsense, "epsilon")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_its_own_decimal(number):
    assert exact(number, "x", computed=True) == F(repr(number))
    assert float(exact(number, "x", computed=True)) == number


@given(st.fractions(max_denominator=2**64))
def test_what_is_shown_is_the_number_or_says_that_it_is_not(fraction):
    shown = display(fraction)
    assert len(shown) <= 42
    if shown.startswith("≈"):
        assert 0 <= abs(fraction) - abs(F(shown[1:])) <= abs(fraction) / 10**11
    else:
        assert F(shown) == fraction


@pytest.mark.parametrize("monster", [F(2**2046 + 1, 2**2047 + 1), F(1, 3**20000), F(7**20000), F(10**5000)])
def test_nothing_is_shown_with_hundreds_of_digits(monster):
    assert len(display(monster)) <= 42


@pytest.mark.parametrize(
    ("value", "text"),
    [(F(1, 10), "0.1"), (F(-5, 4), "-1.25"), (F(1, 3), "1/3"), (F(7), "7"), (F(0), "0"), (F(100), "100"),
     (F(1, 2**18), "0.000003814697265625"), (F(1, 2**19), "1/524288"), (F(10**30 * 10 + 1, 10), "1" + "0" * 30 + ".1")],
)  # fmt: skip
def test_display(value, text):
    assert display(value) == text


def test_positive():
    for value in (0, -1, "-0.5", 0.0):
        with pytest.raises(BadInput, match="greater than 0"):
            positive(value, "epsilon")


def test_a_share_leaves_something_for_the_rest():
    assert share("0.999999", "share") == 1 - F(1, 10**6)
    for value in (0, 1, "1e-7", "0.99999999999999999999", 2, -1):
        with pytest.raises(BadInput, match="share must be"):
            share(value, "share")


def test_a_number_beyond_floats_has_its_exact_form():
    assert as_number(F(10**400)) == {"exact": str(10**400), "float": None}
