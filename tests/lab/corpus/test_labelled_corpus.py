"""Public tables with a label: the rule that takes them, on a frame made up for it."""

import numpy as np
import pytest

from adyton_lab.corpus.labelled_tables import labelled

pandas = pytest.importorskip("pandas")
ROWS = 1000


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "rownames": range(ROWS),
            "name": [f"n{place}" for place in range(ROWS)],
            "rare": ["x"] * (ROWS - 5) + ["y"] * 5,
            "vote": random.choice(["no", "yes", None], ROWS, p=[0.5, 0.4, 0.1]),
            "pay": random.lognormal(8, 1, ROWS),
            "Vote": random.integers(0, 3, ROWS),
            "sex": random.choice(["f", "m"], ROWS),
            "children": random.choice([0.0, 1.0, np.nan], ROWS),
        }
    )


def test_the_first_column_that_can_be_a_label_is_one(frame):
    table = labelled("people", frame)
    assert table.target.label == "vote"
    assert table.target.classes == ("no", "yes")
    assert table.schema.names == ("rare", "pay", "sex", "children", "vote")
    assert len(table.codes) == frame["vote"].notna().sum()
    assert table.schema.shape == (2, 8, 2, 3, 2)
    assert table.codes.min() == 0
    assert (table.codes.max(axis=0) < table.schema.shape).all()


def test_the_label_does_not_depend_on_what_predicts_it(frame):
    told = frame.assign(pay=(frame["vote"] == "yes") * 1.0 + np.arange(ROWS) / 1e6)
    assert labelled("people", told).target.label == labelled("people", frame).target.label


def test_tables_without_a_label_are_left_out(frame):
    assert labelled("people", frame[["name", "rare", "pay"]]) is None
    assert labelled("people", frame[["vote", "sex"]]) is None  # a single attribute
    assert labelled("people", frame.head(300)) is None
