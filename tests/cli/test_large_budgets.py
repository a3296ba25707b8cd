"""Budgets that protect little are told; very large ones need a word of consent."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import pandas
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import LargeBudget
from adyton.report.page import render

EXAMPLES = Path(__file__).parents[2] / "examples"
TABLE = pandas.DataFrame({"age": [1, 2, 3]})
AGES = ad.Schema({"age": ad.Integer(0, 9)})


def count(*words: str):
    """Count the rows of the example from the command line."""
    ask = ["release", str(EXAMPLES / "visits.csv"), "--schema", str(EXAMPLES / "visits.toml"), "--count", *words]
    return CliRunner().invoke(app, ask)


def test_small_budgets_pass_without_a_remark():
    done = count("--epsilon", "3")
    assert done.exit_code == 0
    assert "Remark" not in done.stderr


@pytest.mark.parametrize(("words", "what"), [(["4"], "a release"), (["1", "--total", "4"], "a total")])
def test_large_ones_are_reported(words, what):
    done = count("--epsilon", *words)
    assert done.exit_code == 0
    assert f"Remark: {what} of ε = 4 protects little." in done.stderr
    assert "whether a certain row is in the table" in done.stderr
    assert "can reach at most 99%" in done.stderr
    assert "Remark" not in count("--epsilon", *words, "--quiet").stderr


@pytest.mark.parametrize("words", [["11"], ["1", "--total", "11"]])
def test_very_large_ones_need_consent(words, tmp_path):
    ledger = tmp_path / "visits.ledger"
    total = [] if "--total" in words else ["--total", "11"]
    refused = count("--epsilon", *words, *total, "--ledger", str(ledger))
    assert refused.exit_code == 2
    assert "ε = 11 protects hardly anybody" in refused.stderr
    assert refused.stderr.rstrip().endswith("Ask for less, or add --yes if this is intended.")
    assert not ledger.exists()
    done = count("--epsilon", *words, *total, "--ledger", str(ledger), "--yes")
    assert done.exit_code == 0, done.output
    assert "LargeBudget" not in done.output


def test_python_warns():
    with pytest.warns(LargeBudget, match="a total of ε = 8 protects little") as told:
        session = ad.Session(TABLE, schema=AGES, epsilon=8, unit="patient")
    assert [one.filename for one in told if one.category is LargeBudget] == [__file__]
    with pytest.warns(LargeBudget, match=r"a release of ε = 4 protects little.*a certain patient"):
        session.release(ad.Histogram("age"), epsilon=4, algorithm="identity")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeBudget)
        ad.Session(TABLE, schema=AGES, epsilon=3).count(1)


@pytest.mark.parametrize(("epsilon", "times"), [("0.5", "63"), ("1", "74"), ("3", "96"), ("10", "99.996")])
def test_page_and_explanation_say_what_it_means_for_one_person(epsilon, times):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeBudget)
        session = ad.Session(TABLE, schema=AGES, epsilon=10, unit="patient")
        release = session.release(ad.Histogram("age"), epsilon=Fraction(epsilon), algorithm="identity")
    sentence = f"a certain patient is in the table can reach at most {times}%."
    assert sentence in str(release.explain())
    if epsilon in ("0.5", "10"):
        assert sentence in render(release)
