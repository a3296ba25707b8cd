"""``adyton plan``: errors against ε from the schema alone."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.plans import plan_named

SCHEMA = str(Path(__file__).parents[2] / "examples" / "visits.toml")


def run(*words):
    return CliRunner().invoke(app, ["plan", "--schema", SCHEMA, *words], env={"COLUMNS": "120"})


def test_errors_fall_as_epsilon_grows():
    done = run("--ranges", "age", "--epsilon", "1", "--epsilon", "0.1", "--epsilon", "0.5", "--error", "10")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines() if line.strip().startswith(("0.", "1"))]
    assert [line[0] for line in lines] == ["0.1", "0.5", "1"]
    assert float(lines[0][1]) > 8 * float(lines[2][1])
    assert len(lines[0][-1]) > len(lines[1][-1]) > len(lines[2][-1])
    assert "ε = 0.7054 gives these 6,105 counts a typical error of at most 10: good to ± 30.6, 19 times" in done.stdout
    assert "staged-hierarchy" in done.stderr
    assert "1/50 of ε is spent on counting rows that do not match the schema, here if ε is at least 1" in done.stderr
    assert "ε = 0.1: Rows with a blank or unknown value, which do not match" in done.stderr
    assert "age accepts a whole number like 68 between 0 and 109" in done.stderr
    spent = run("--ranges", "age", "--epsilon", "1", "--error", "10", "--misfits")
    assert "ε = 0.7198 gives these" in spent.stdout
    assert run("--ranges", "age", "--epsilon", "1", "--quiet").stderr == ""


def test_nothing_is_said_to_have_happened():
    """Remarks on rows that do not match are about a release to come, and a rehearsal has cost nothing."""
    for words in (("--ranges", "age"), ("--marginals", "2"), ("--mean", "cost")):
        said = run(*words, "--epsilon", "0.01").stderr
        assert "are not counted at this ε" in said
        assert "were not counted" not in said
    done = run("--count", "--epsilon", "0.5", "--rehearse")
    assert "a real count would cost ε = 0.5; this one is simulated" in done.output
    assert "this count cost" not in done.output


def test_figures_are_the_closed_forms():
    plain = json.loads(run("--cdf", "age", "--algorithm", "hb", "--epsilon", "1", "--error", "10", "--json").stdout)
    expected = plan_named("hb").expected_error(ad.workloads.Prefix(110), "0.98")  # 1/50 counts misfits
    (errors,) = plain["errors"]
    assert errors["algorithms"] == {"hb": {"per_query": expected.per_query, "kind": "exact"}}
    assert plain["misfits"]["exact"] == "1/50"
    assert plain["accepts"]["age"].startswith("a whole number like 68 between 0 and 109")
    enough = Fraction(plain["least_epsilon"]["exact"]) * Fraction(49, 50)
    least = plan_named("hb").expected_error(ad.workloads.Prefix(110), enough)
    assert 9.95 < least.per_query <= 10


def test_a_picture(tmp_path):
    done = run("--histogram", "age", "--epsilon", "1", "--epsilon", "0.1", "--picture", str(tmp_path / "a.svg"))
    assert done.exit_code == 0, done.output
    assert "error of an answer" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_a_target_in_percent_is_one_sentence(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("age\n" + "34\n" * 2000, encoding="utf-8")
    session = ad.Session(rows, schema=ad.Schema({"age": ad.Integer(0, 99, step=20)}), epsilon=1000)
    session.release(ad.Histogram("age"), epsilon=500, algorithm="identity").save(tmp_path / "earlier")
    asked = ("--histogram", "department", "--algorithm", "identity", "--error")
    picture = str(tmp_path / "a.svg")
    said = "ε = 0.1461 makes each of these 6 counts good to ± 20, or 5% of 400, 19 times of 20.\n"
    for words in (("5%", "--of", "400"), ("±20", "--of", "400"), ("5%", "--of", str(tmp_path / "earlier"))):
        done = run(*asked, *words, "--quiet", "--picture", picture)
        assert done.stdout.endswith(said), done.output
    assert "ε = 0.146: 20" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    plain = json.loads(run(*asked, "5%", "--of", "400", "--json").stdout)
    assert plain["sentence"] == said.strip()
    assert run("--mean", "age", "--group-rows", "500", "--picture", picture).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what you would release"),
        (("--ranges", "sex"), "has no order"),
        (("--ranges", "age", "--epsilon", "0"), "greater than 0"),
        (("--ranges", "age", "--error", "much"), "given 'much'"),
        (("--ranges", "age", "--error", "much%", "--of", "400"), "given 'much%'"),
        (("--ranges", "age", "--error", "5%"), "5%' of what"),
        (("--ranges", "age", "--error", "5%", "--of", "0"), "of must be greater than 0"),
        (("--ranges", "age", "--of", "400"), "Give --error 5%"),
        (("--variance", "cost", "--group-rows", "500", "--error", "±5"), "depends on the data"),
        (("--ranges", "age", "--algorithm", "dawa", "--error", "3"), "no closed form"),
        (("--ranges", "age", "--picture", "a.txt"), "a.txt"),
        (("--ranges", "age", "--picture", "no/such/place.svg"), "cannot be written"),
        (("--histogram", "agee"), "Did you mean 'age'"),
    ],
)
def test_bad_input(words, message):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
