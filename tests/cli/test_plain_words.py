"""Previews, plans and refusals speak in words that need no manual."""

from __future__ import annotations

import math
import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import get_args, get_type_hints

import pandas
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton import odds
from adyton.choice.decision import Choice
from adyton.cli.main import app
from adyton.plans.base import MEANINGS, ExpectedError

SCHEMA = str(Path(__file__).parents[2] / "examples" / "visits.toml")


@pytest.fixture(scope="module")
def session():
    return ad.Session(pandas.DataFrame({"age": [1, 2, 3]}), schema=ad.Schema({"age": ad.Integer(0, 99)}), epsilon=1)


def test_a_preview_says_what_its_figures_and_algorithms_are(session):
    preview = session.preview(ad.Ranges("age"), "0.5")
    for shown in (str(preview), preview._repr_html_()):
        assert "upper mark" not in shown
        assert "about this or less" in shown
        assert "error of estimation" in shown
        assert "Noise on every cell, then empirical Bayes" in shown
    assert str(preview).splitlines()[-1] == "The error is the typical error of one answer, in rows."
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
        ("--average", "--mean A gives the mean"),
        ("--median", "--quantiles A --at median"),
        ("--std", "--variance A"),
        ("--max", "belongs to one person"),
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


# ---- what is refused names the way that the command line has ---------------------------------------------------------

VISITS = SCHEMA.replace(".toml", ".csv")
BOTH = ("release", "plan")
SHELL = [
    (BOTH, ("--histogram", "age", "sex"), "separated by commas, without spaces, as in --histogram age,sex"),
    (BOTH, ("--ranges", "age,", "sex"), "separated by commas"),
    (BOTH, ("--mean", "age", "--by", "sex", "department"), "separated by commas"),
    (BOTH, ("--marginals", "2", "--attributes", "age", "sex"), "separated by commas"),
    (BOTH, ("--marginal", "age", "sex"), "separated by commas"),
    (BOTH, ("--histogram", "age", "--algorithm", "laplace"), "Did you mean 'identity'?"),
    (BOTH, ("--histogram", "age", "--algorithm", "Haar"), "Did you mean 'privelet'?"),
    (BOTH, ("--mean", "age", "--algorithm", "laplace_"), "There are 'auto'"),
    (BOTH, ("--sum", "age", "--algorithm", "laplace"), "Did you mean 'sums'?"),
    (BOTH, ("--histogram", "age", "--algorithm", "all-pairs"), "--marginals 2"),
    (BOTH, ("--histogram", "age,sex,department", "--algorithm", "dawa"), "such as identity or hb"),
    (BOTH, ("--mean", "sex"), "a histogram counts any value"),
    (("plan",), ("--mean", "age", "--error", "1"), "give it: --group-rows 1000"),
]


@pytest.mark.parametrize(
    ("command", "words", "way"), [(command, words, way) for commands, words, way in SHELL for command in commands]
)
def test_what_is_refused_names_the_shell_s_own_way(command, words, way):
    before = [VISITS, "--epsilon", "1"] if command == "release" else []
    done = CliRunner().invoke(app, [command, *before, "--schema", SCHEMA, *words])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert way in done.stderr
    alone = done.stderr.split("(in Python")[0].split("(ad.")[0]
    assert not re.search(r"\bad\.[A-Z]|\b[a-z]+=[0-9…\"\[]", alone), alone


def test_names_among_the_files_of_a_fit_are_refused():
    words = ["fit", VISITS, "--schema", SCHEMA, "--epsilon", "1", "--label", "sex", "--attributes", "age", "department"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert (done.exit_code, "separated by commas" in done.stderr) == (2, True)


def test_a_question_ends_with_one_mark():
    assert "Did you mean 'release'? Try " in CliRunner().invoke(app, ["relaese"]).stderr


def test_what_can_be_explained_is_said_where_nothing_can(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("age\n1\n")
    for name, words in (
        ("none", "there is no file or folder"),
        ("empty", "holds nothing"),
        ("rows.csv", "holds nothing"),
    ):
        done = CliRunner().invoke(app, ["explain", str(tmp_path / name)])
        assert (done.exit_code, words in done.stderr) == (2, True)
        assert "`adyton release --out`" in done.stderr


def test_options_of_algorithms_are_written_as_people_write_them():
    words = ["plan", "--schema", SCHEMA, "--histogram", "sex", "--epsilon", "1", "--quiet"]
    for flag in ("true", "True", "false", "False"):
        assert CliRunner().invoke(app, [*words, "--option", f"nonnegative={flag}"]).exit_code == 0


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_the_best_candidate_is_1(session):
    choice = Choice("b", Fraction(1), (), {"a": 1.13, "b": 1.04, "c": float("inf")})
    assert choice.ranked() == [("b", "1.00"), ("a", "1.09"), ("c", "unknown")]
    assert Choice("b", Fraction(1), (), {}).ranked() == []
    release = session.release(ad.Histogram("age"), "0.01")
    assert "relative to the best (1 = best): " in str(release.explain())
    assert f"{release.choice.ranked()[0][0]} 1.00" in str(release.explain())


def test_a_chance_is_rounded_up_to_what_means_something():
    for epsilon in (1e-9, 1e-6, 0.001, 0.01, 0.1, 0.3, 1, 2, 5, 8, 10, 11, 12, 20, 50, 900):
        shown, right = odds.chance(Fraction(epsilon)), 1 / (1 + math.exp(-epsilon))
        assert shown is None if right > 0.99999 else 100 * right <= float(shown) <= 100 * right + 1
        assert shown is None or len(shown.replace(".", "")) <= (3 if right < 0.99 else 5)
    assert "almost certain" in odds.in_words(Fraction(20))


def test_an_empty_group_does_not_decide_what_error_is_expected():
    rows = pandas.DataFrame({"pay": list(range(1000)) * 3, "where": ["a"] * 1000 + ["b"] * 1000 + ["c"] * 1000})
    schema = ad.Schema({"pay": ad.Integer(0, 999), "where": ad.Categorical(["a", "b", "c", "d"])})
    release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Mean("pay", by="where"), 1)
    assert release.expected_error["mean"] < 5 < max(release.to_frame()["mean_error"])  # ± 1.2 in groups with rows
    assert "in the median of 4 groups" in str(release.explain())
    alone = ad.Session(rows, schema=schema, epsilon=1).release(ad.Mean("pay"), 1)
    assert "groups" not in alone.explain().paragraphs[2]
