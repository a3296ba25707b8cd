"""Where a limit on the rows of a unit is enforced, every output says so before any number; where none is, none does."""

import csv
import json
import re
from fractions import Fraction
from io import StringIO

import numpy as np
import pandas
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.noise import SimulatedNoise
from adyton.result.number import measured_cut_off
from adyton.result.receipt import RowsCounted
from saved_results import signed

SENTENCE = "At most 2 rows of each person are counted."
SHORT = "at most 2 rows of each person"
ONCE = "each person once"
CUT = re.compile(r"at most [\d,]+ (rows? )?of each", re.IGNORECASE)
ATTRIBUTES = {"age": ad.Integer(0, 5), "sex": ad.Categorical(["F", "M"]), "pay": ad.Numeric(0, 100, bins=4)}
QUERIES = [{"age": (1, 3), "sex": "F"}, {"sex": "M"}]
TASKS = {
    "histogram": (ad.Histogram("age"), "identity"),
    "two attributes": (ad.Histogram("age", "sex"), "identity"),
    "ranges": (ad.Ranges("age"), "identity"),
    "cdf": (ad.Cdf("age"), "identity"),
    "queries": (ad.QueryList(QUERIES), "identity"),
    "marginals": (ad.Marginals(way=1, attrs=["age", "sex"]), "identity"),
    "wide marginals": (ad.Marginals(way=2), "all-pairs"),
    "sum": (ad.Sum("pay"), "auto"),
    "mean": (ad.Mean("pay", by="sex"), "auto"),
    "quantiles": (ad.Quantiles("pay", [0.5]), "auto"),
    "summary": (ad.Summary("pay"), "auto"),
    "rows per unit": (ad.RowsPerUnit(4, "visits"), "identity"),
    "classifier": (ad.Classifier("sex", ["age"], "naive-bayes"), ""),
}


def table():
    """One person with 30 rows, 19 with one, 20 with three: 109 rows, of which a limit of two leaves 61."""
    person = np.repeat(np.arange(40), [30, *[1] * 19, *[3] * 20])
    sexes = np.where(person % 2, "F", "M")
    return pandas.DataFrame({"person": person, "age": person % 6, "sex": sexes, "pay": person % 90})


def session_of(unit, **options):
    """With a column that is a unit, or with a promise about persons that nothing enforces."""
    schema = ad.Schema(ATTRIBUTES, 2, unit=unit)
    return ad.Session(table(), schema=schema, epsilon=1000, unit="person" if unit else "household", **options)


def made_of(session, name):
    """A release, or a model."""
    task, algorithm = TASKS[name]
    if name == "classifier":
        return session.fit(task, epsilon=1)
    return session.release(task, epsilon=1, algorithm=algorithm)


@pytest.fixture(scope="module")
def sessions():
    return {"person": session_of("person"), None: session_of(None)}


@pytest.fixture(params=TASKS)
def outputs(request, sessions, tmp_path_factory):
    """By whether a column is the unit: the release in each of its channels, up to where numbers begin."""
    enforced = [unit for unit in sessions if unit or request.param != "rows per unit"]
    return {
        bool(unit): _channels(made_of(sessions[unit], request.param), tmp_path_factory.mktemp("out"))
        for unit in enforced
    }


def _channels(release, folder):
    found = {"repr": repr(release), "explain": release.explain().paragraphs[0], "html": release._repr_html_()[:1500]}
    found["dict"] = json.dumps(release.to_dict())[:700]
    release.save(folder / "saved")
    again = type(release).load(folder / "saved")
    found["loaded"] = repr(again)
    for file in sorted((folder / "saved").rglob("*.*")):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".html":
            text = re.sub(r"<[^>]+>", " ", text.partition("<h1>")[2].partition('<dl class="figures">')[0])
        elif file.suffix == ".csv":
            header, first, *_ = csv.reader(StringIO(text))
            assert len(pandas.read_csv(file).columns) == len(header)
            text = dict(zip(header, first, strict=True)).get("counted", "")
        found[file.name] = text[:700]
    if hasattr(release, "to_frame"):
        found["frame"] = " ".join(map(str, release.to_frame().iloc[0]))
        found["polars"] = str(release.to_polars().row(0))
    return found


def test_every_channel_says_it_first_and_none_does_where_nothing_is_cut(outputs):
    words = (SHORT, "each person")
    for channel, said in outputs[True].items():
        assert any(word in said.replace("At most", "at most").replace("Each", "each") for word in words), (
            channel,
            said,
        )
    for channel, said in outputs.get(False, {}).items():
        assert not CUT.search(said), (channel, said)
        assert "not numbers of all rows" not in said, (channel, said)


def test_numbers_that_follow_from_a_release_say_it(sessions):
    for unit, words in (("person", SHORT), (None, None)):
        session = sessions[unit]
        release, wide = made_of(session, "histogram"), made_of(session, "wide marginals")
        rows = session.release(ad.Histogram("age"), epsilon=1, where="sex = 'F'", algorithm="identity")
        said = [
            *(repr(one) for one in (release.mean(), release.sum(), release.median(), release.quantile(0.9))),
            repr(release.cdf()).splitlines()[0],
            repr(release.top(2)).splitlines()[0],
            str(release.cdf().to_frame().iloc[0].to_dict()),
            release.mean().meaning[:80],
            repr(release.interval()),
            repr(release.table("age")),
            repr(wide.table("age", "pay")),
            repr(wide.interval([{"age": 3}])),
            repr(wide.mean("age")),
            str(wide.errors().iloc[0].to_dict()),
            repr(session.count(1)),
            str(session.preview(ad.Histogram("age"), 1).notes),
            str(session.preview(ad.Mean("pay"), 1)),
        ]
        for one in said:
            assert words is None or words in one.replace("At most", "at most"), one
            assert words is not None or not CUT.search(one), one
        assert "only rows where sex = 'F'" in rows.to_frame()["counted"][0]
        assert "only rows where sex = 'F'" in repr(rows.mean())
        assert unit is None or rows.to_frame()["counted"][0].startswith(words)
    assert ONCE in repr(sessions["person"].count_units(1))


def test_synthetic_rows_say_whom_they_stand_for(sessions, tmp_path):
    for unit, cut in (("person", True), (None, False)):
        release = made_of(sessions[unit], "two attributes")
        assert (SENTENCE in release.sample(5).attrs["synthetic"]["note"]) == cut
        for kind in ("csv", "parquet"):
            file = tmp_path / f"{unit}.{kind}"
            release.write_rows(file, 5)
            assert (SENTENCE in json.loads((tmp_path / f"{file.name}.synthetic.json").read_text())["note"]) == cut
        assert (SENTENCE.encode() in parquet.read_schema(file).metadata[b"adyton.synthetic"]) == cut
        assert ("counted" in release.to_frame()) == cut


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table().to_csv(folder / "visits.csv", index=False)
    (folder / "person.toml").write_text(ad.Schema(ATTRIBUTES, 2, unit="person").to_toml(), encoding="utf-8")
    (folder / "none.toml").write_text(ad.Schema(ATTRIBUTES, 2).to_toml(), encoding="utf-8")
    return folder


ASKED = {
    "--count": "at most 2 of each person",
    "--histogram age --algorithm identity": SENTENCE,
    "--marginals 2 --algorithm all-pairs": SENTENCE,
    "--mean pay": SENTENCE,
    "--units": ONCE,
    "--rows-per-unit 4 --algorithm identity": "4 means 4 or more",
    "--cut-off 9": "at least about",
}


@pytest.mark.parametrize("words", ASKED)
def test_the_command_line_says_it_in_its_first_lines(files, words):
    def said(schema, *more):
        asked = [*words.split(), "--epsilon", "1", *more]
        found = CliRunner().invoke(app, ["release", str(files / "visits.csv"), "--schema", str(schema), *asked])
        assert found.exit_code == 0, found.output
        return found.stdout

    assert ASKED[words] in said(files / "person.toml").partition("\n")[0]
    assert "person" in " ".join(said(files / "person.toml", "--json")[:900].split("\n")[:12])
    if words.split()[0] not in ("--units", "--rows-per-unit", "--cut-off"):
        assert not CUT.search(said(files / "none.toml"))
        assert not CUT.search(said(files / "none.toml", "--json"))


def test_plans_and_models_say_it_on_the_command_line(files, tmp_path):
    for name, cut in (("person", True), ("none", False)):
        start = ["--schema", str(files / f"{name}.toml"), "--epsilon", "1"]
        for asked in (["--histogram", "age"], ["--mean", "pay"]):
            for json_too in ([], ["--json"]):
                found = CliRunner().invoke(app, ["plan", *start, *asked, *json_too])
                assert (SENTENCE in " ".join(found.stdout.split("\n")[:2])) == cut, found.output
        model = ["fit", str(files / "visits.csv"), *start, "--label", "sex", "--method", "naive-bayes"]
        found = CliRunner().invoke(app, [*model, "--out", str(tmp_path / name)])
        assert (SENTENCE in found.stdout.partition("\n")[0]) == cut, found.output
        found = CliRunner().invoke(app, ["explain", str(tmp_path / name)])
        assert (SENTENCE in found.stdout.partition("\n")[0]) == cut, found.output


def test_a_predicate_is_said_before_any_number(files):
    """What stands on standard output is what somebody keeps."""
    for words in ("--histogram age --algorithm identity", "--mean pay", "--marginals 2 --algorithm all-pairs"):
        asked = [*words.split(), "--epsilon", "1", "--where", "sex = 'F'"]
        found = CliRunner().invoke(
            app, ["release", str(files / "visits.csv"), "--schema", str(files / "none.toml"), *asked]
        )
        assert found.stdout.startswith("Only rows where sex = 'F'"), found.output


def test_older_files_follow_their_schema_and_others_are_refused(sessions, tmp_path):
    """Receipts did not say whether the limit was enforced: the schema beside them does."""
    made_of(sessions["person"], "histogram").save(tmp_path / "new")
    file = tmp_path / "new" / "release.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    del plain["digest"], plain["counted"], plain["record"]["enforced"]
    file.write_text(json.dumps(signed(plain)), encoding="utf-8")
    assert SENTENCE in ad.Release.load(file).explain().paragraphs[0]
    plain["record"]["enforced"] = False
    file.write_text(json.dumps(signed(plain)), encoding="utf-8")
    with pytest.raises(BadInput, match="enforced"):
        ad.Release.load(file)


def test_the_last_class_is_that_many_or_more(tmp_path):
    """Of 109 rows a limit of one leaves 40; the release looks at up to 4 rows of a person."""
    release = session_of("person", noise=SimulatedNoise(1)).release(
        ad.RowsPerUnit(4, "visits"), epsilon=500, algorithm="identity"
    )
    assert release.to_frame()["visits"].tolist() == ["1", "2", "3", "4 or more"]
    assert release.which_rows == (
        "Each person is counted once, with all of its rows; 4 means 4 or more. Rows without a person are left out."
    )
    assert release.axes["visits"][-1] == "4 or more"
    assert release.answer([{"visits": (4, None)}]).tolist() == [1]
    assert "4 means 4 or more" in repr(release.mean())
    one, two = ad.cut_off(release, [1, 2])
    assert (one.rows, one.most, two.rows, two.units) == (43, 4, 22, 21)
    assert one.rows_share == pytest.approx(43 / 83)
    assert "at least about 43 rows (at least 51.8%)" in str(one)
    for limits in (4, [1, 4], 9):
        with pytest.raises(BadInput, match="below 4"):
            ad.cut_off(release, limits)
    release.save(tmp_path / "out")
    assert "4 or more" in (tmp_path / "out" / "estimate.csv").read_text(encoding="utf-8")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Units in all, about" in page
    assert page.count("4 or more") >= 4


def test_what_is_cut_is_measured_for_its_price_once(sessions):
    """21 persons have more than two rows: one has 28 more, 20 have one more each."""
    session = session_of("person", noise=SimulatedNoise(1))
    found = session.cut_off(500, most=100)
    assert session.spent == 500
    assert (found.units, found.rows, found.limit, found.most) == (21, 48, 2, 100)
    assert (session.cut_off(100, most=5).rows, session.cut_off(100, most=3).rows) == (23, 21)
    assert session.spent == 700
    assert "at least about 48 rows of about 21 units" in str(found)
    for most, message in ((2, "larger than rows_per_unit = 2"), (0, "most"), (10**6, "at most 100,000"), ("9", "most")):
        with pytest.raises(BadInput, match=message):
            session.cut_off(1, most=most)
    with pytest.raises(BadInput, match="names no unit"):
        sessions[None].cut_off(1, most=9)
    with pytest.raises(BudgetExceeded):
        session.cut_off(400, most=9)
    assert session.spent == 700


def test_bounds_of_what_is_cut_hold():
    """Noise of scale 2/ε for units and 2(most − limit)/ε for rows: of 400 bounds at 95%, fewer than 60 miss.

    The chance that a bound which holds 95 times of 100 is missed 60 times of 400 is below 1e-12.
    """
    sizes = Kernel.simulated([19, 0, 20, *[0] * 8, 1], epsilon=200, seed=7).root
    found = [measured_cut_off(sizes, 2, Fraction(1, 2)) for _ in range(400)]
    missed_units = sum(not one.units_between[0] <= 21 <= one.units_between[1] for one in found)
    missed_rows = sum(not one.rows_between[0] <= 30 <= one.rows_between[1] for one in found)
    assert 0 < missed_units < 60
    assert 0 < missed_rows < 60
    spread = np.std([one.rows for one in found]) / np.std([one.units for one in found])
    assert 7 < spread < 14  # 10 in the limit of many draws


def test_words_for_one_row_and_for_none():
    assert "At most 1 row of each person is counted." in RowsCounted.of("person", 1).sentence
    assert not RowsCounted.of(None, 5)
    assert RowsCounted.of("caller", 1500).short == "at most 1,500 rows of each caller"
