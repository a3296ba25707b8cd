"""Exact numbers: read as written, refused when they are no numbers, shown as a person would write them."""

from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import BadInput
from adyton.exact import display, exact, positive, share


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (0.1, F(1, 10)), ("0.1", F(1, 10)), (Decimal("0.1"), F(1, 10)), (np.float64(0.1), F(1, 10)), ("1/3", F(1, 3)),
        (" 1 / 3 ", F(1, 3)), (np.int8(3), F(3)), (1e-300, F(1, 10**300)), ("1e-3", F(1, 1000)), (5e-324, F("5e-324")),
        (1.7e308, F("1.7e308")), (10**100, F(10**100)), (F(2, 7), F(2, 7)), ("-2", F(-2)), (-0.0, F(0)),
    ],
)  # fmt: skip
def test_numbers_are_read_as_written(given, value):
    assert exact(given, "epsilon") == value


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
    assert exact(number, "x") == F(repr(number))
    assert float(exact(number, "x")) == number


@given(st.fractions())
def test_what_is_shown_is_the_number(fraction):
    assert F(display(fraction)) == fraction


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


@pytest.mark.parametrize("part", ["0.99999999999999999999", "1e-300", "0.00000000000000000001"])
def test_a_share_that_floats_cannot_tell_from_nothing_or_all_is_refused(part):
    with pytest.raises(BadInput, match="too near to 0 or 1"):
        share(part, "share")
