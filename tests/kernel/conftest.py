"""A small table that several tests ask about."""

import pandas as pd
import pytest

import adyton as ad

ROWS = [
    (34, "F", 1, "p1"), (51, "M", 4, "p2"), (77, "F", 30, "p1"), (20, "M", 2, "p3"), (64, "F", 0, "p4"),
    (None, "M", 3, "p5"), (41, None, 3, "p6"), (130, "F", 3, "p6"),
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "visits.ledger"


@pytest.fixture
def schema():
    return ad.Schema(
        {
            "age": ad.Integer(0, 99, step=10),
            "sex": ad.Categorical(["F", "M"]),
            "stay": ad.Integer(0, 30, outside="clamp"),
            "patient": ad.Identifier(),
        }
    )


@pytest.fixture
def table():
    return pd.DataFrame(ROWS, columns=["age", "sex", "stay", "patient"])


@pytest.fixture
def kernel(table, schema):
    return ad.Kernel(table, schema=schema, epsilon=1000)
