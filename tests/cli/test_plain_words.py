"""Previews, plans and refusals speak in words that need no manual."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import get_args, get_type_hints

import pandas
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.plans.expected_error import MEANINGS, ExpectedError

SCHEMA = str(Path(__file__).parents[2] / "examples" / "visits.toml")


@pytest.fixture(scope="module")
def session():
    return ad.Session(pandas.DataFrame({"age": [1, 2, 3]}), schema=ad.Schema({"age": ad.Integer(0, 99)}), epsilon=1)


def test_a_preview_says_what_its_figures_and_algorithms_are(session):
    preview = session.preview(ad.Ranges("age"), "0.5")
    for shown in (str(preview), preview._repr_html_()):
        assert "upper mark" not in shown
        assert "about this or less" in shown
        assert "certain, whatever the data" in shown
        assert "Noise on every cell, then empirical Bayes" in shown
    assert str(preview).splitlines()[-1] == "The error is how far off one answer typically is, in rows."
    assert "exponential mechanism" in str(session.preview(ad.Histogram("age"), "0.5", algorithm="mwem"))


def test_every_kind_of_figure_has_its_words():
    assert str(ExpectedError(6.0, 4, "upper mark")) == "6 in all, 3 a query (about this or less)"
    assert MEANINGS.keys() == set(get_args(get_type_hints(ExpectedError)["kind"]))


def test_a_plan_says_what_its_figures_and_algorithms_are():
    done = CliRunner().invoke(app, ["plan", "--schema", SCHEMA, "--ranges", "age"], env={"COLUMNS": "120"})
    assert "promise" not in done.output
    assert "upper mark" not in done.output
    assert "what the error is" in done.stdout
    assert "A binary tree of counts of which only a few levels are measured" in done.stderr


def test_the_epsilon_for_an_error_is_printed_as_a_decimal(session):
    least = session.epsilon_for(ad.Cdf("age"), error=25)
    assert str(least) == f"{least}" == str(float(least))
    assert isinstance(least, Fraction)
    assert type(least + 0) is Fraction
    assert pickle.loads(pickle.dumps(least)) == least
    assert hash(least) == hash(Fraction(least.numerator, least.denominator))
    release = session.release(ad.Cdf("age"), epsilon=least, algorithm="hb")
    assert type(release.epsilon) is Fraction
    assert release.epsilon == least


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ("--average", "--mean A has the mean"),
        ("--median", "--quantiles A --at median"),
        ("--std", "--variance A"),
        ("--max", "one person's own"),
        ("--group-by", "--histogram department,sex"),
        ("--eps", "--epsilon 0.5"),
        ("--seed", "there is no seed"),
    ],
)
def test_an_option_that_does_not_exist_names_the_way_that_does(option, way):
    done = CliRunner().invoke(app, ["release", "visits.csv", "--schema", SCHEMA, option, "age", "--epsilon", "1"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert way in done.stderr


def test_other_options_lead_to_the_help():
    done = CliRunner().invoke(app, ["release", "visits.csv", "--schema", SCHEMA, "--frobnicate"])
    assert "No such option: --frobnicate" in done.stderr
    assert "--help" in done.stderr
