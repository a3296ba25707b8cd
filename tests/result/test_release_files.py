"""The files of a release: complete, and read with the eyes of a stranger."""

import copy
import json
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from small_table import releases

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.selector import Training
from adyton.choice.trained_selectors import TreeSelector
from adyton.errors import BadInput
from saved_results import signed

HUGE = 10**400
release_of = releases(oldest=7)
NAMED = release_of(ad.Histogram("age", "sex"))
ASKED = release_of(ad.QueryList([{"age": (2, 5)}, {"age": [1, 6], "sex": "F"}]))


def plain(release):
    return json.loads(json.dumps(release.to_dict()))


def chosen():
    """A release whose algorithm was chosen after a look at the data, and is a quick one."""
    leaf = Leaf("identity", {"identity": 1.0}, 1)
    about = Training(
        dimensions=2, algorithms=("identity",), workloads=("short",), corpus=(), epsilons=(), inputs=1, trials=1,
        date="", adyton="",
    )  # fmt: skip
    selector = TreeSelector(about, Fraction(1, 100), {"short": Split("scale", 5.0, leaf, leaf)})
    found = plain(release_of(ad.Histogram("age", "sex"), "auto", selector=selector))
    assert found["choice"]["bought"]
    return found


CHOSEN = chosen()


def change(found, path, to):
    """A copy in which one part is another one; ``...`` takes it away."""
    copied = inner = copy.deepcopy(found)
    *way, last = path
    for step in way:
        inner = inner[step]
    if to is ...:
        del inner[last]
    else:
        inner[last] = to
    return copied


def load(tmp_path, found):
    """From a file with a digest that fits, whatever is in it."""
    file = tmp_path / "release.json"
    file.write_text(found if isinstance(found, str) else json.dumps(signed(found)), encoding="utf-8")
    return ad.Release.load(file)


@pytest.mark.parametrize(
    "release",
    [
        NAMED,
        release_of(ad.Cdf("age"), "auto", where="sex = 'F'"),
        release_of(ad.QueryList([{"age": (3, 5), "sex": ["F", "(null)"]}]), "auto", nonnegative=True),
        release_of(ad.Marginals(way=2), total=3000),
    ],
    ids=str,
)
def test_a_saved_release_answers_as_before(tmp_path, release):
    release.save(tmp_path / "deep" / "out")
    again = ad.Release.load(tmp_path / "deep" / "out")
    assert again.to_dict() == release.to_dict()
    assert np.array_equal(again.estimate, release.estimate)
    assert repr(again) == repr(release)
    assert str(again.explain()) == str(release.explain())
    asked = {"age": (2, 5)}
    assert np.array_equal(again.interval(asked).lower, release.interval(asked).lower)
    assert len(pd.read_csv(tmp_path / "deep" / "out" / "estimate.csv")) == release.estimate.size
    assert "<svg" in (tmp_path / "deep" / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "algorithm", "options", "written"),
    [
        (
            ad.Ranges("age"),
            "dawa",
            {"allowance": np.float64(2.5), "longest": np.int64(4), "partition_share": Decimal("0.3")},
            {"allowance": 2.5, "longest": 4, "partition_share": "0.3"},
        ),
        (
            ad.Ranges("age"),
            "ahp",
            {"eta": Fraction(1, 3), "nonnegative": np.True_},
            {"eta": "1/3", "nonnegative": True},
        ),
        (ad.Marginals(way=np.int64(1)), "identity", {"total": np.uint16(3000)}, {"total": 3000}),
        (ad.QueryList([{"age": (np.int8(2), 5), "sex": {"F", "M"}}]), "identity", {}, {}),
    ],
    ids=["shares", "fractions", "whole numbers", "queries"],
)
def test_numbers_of_every_kind_are_written_plainly(tmp_path, task, algorithm, options, written):
    release = release_of(task, algorithm, **options)
    found = release.to_dict()
    assert found["options"] == written
    assert list(map(type, found["options"].values())) == list(map(type, written.values()))
    again = load(tmp_path, found)
    assert again.to_dict() == found
    assert str(again.explain()) == str(release.explain())  # the algorithm runs with its options as they were written


@pytest.mark.parametrize(
    ("found", "path", "to", "message"),
    [
        (NAMED, ["format"], "picture", "is not a release"),
        (NAMED, ["version"], 3, "of version 3; this program reads 2"),
        (NAMED, ["estimate"], [1.0], "in the shape"),
        (NAMED, ["estimate", 0, 0], None, "in the shape"),
        (NAMED, ["estimate", 0, 0], "1", "in the shape"),
        (NAMED, ["estimate", 0], [1.0], "in the shape"),
        (NAMED, ["estimate", 0, 0], HUGE, "beyond ±2.62"),
        (NAMED, ["estimate", 0, 0], 1e19, "beyond ±2.62"),
        (NAMED, ["estimate"], [[1e18] * 3] * 8, "exceed 2.62 together"),
        (NAMED, ["schema", "attributes", "age", "max"], 2**52, "in the shape"),
        (NAMED, ["schema", "attributes", "age", "min"], 99, "min must not exceed max"),
        (NAMED, ["schema", "rows_per_unit"], 7, "rows_per_unit = 1, the schema says 7"),
        (NAMED, ["task", "attributes"], ["age"], "different attributes"),
        (NAMED, ["task", "attributes"], ["page"], "no attribute 'page'"),
        (ASKED, ["task", "queries", 0, "age", "from"], HUGE, "."),
        (NAMED, ["where"], 3, "where must be a text"),
        (NAMED, ["where"], "\ud800", "surrogate"),
        (NAMED, ["algorithm"], "magic", "no algorithm 'magic'"),
        (NAMED, ["algorithm"], "php", "php serves 1 dimensions"),
        (NAMED, ["options"], {"depth": 3}, "no option 'depth'"),
        (NAMED, ["options"], {"total": {"a": 1}}, "total must be"),
        (NAMED, ["options"], {"rows": 3}, "rows must be a measurement"),
        (NAMED, ["options"], {"reduce": "yes"}, "reduce must be true or false"),
        (NAMED, ["epsilon", "exact"], "0", "greater than 0"),
        (NAMED, ["epsilon", "exact"], "1/0", "finite number"),
        (NAMED, ["epsilon", "exact"], "2", "at most 1, given 2"),
        (NAMED, ["epsilon", "exact"], "1e-20", "at least 2.-40"),
        (NAMED, ["epsilon", "exact"], f"{10**400 + 1}/{3 * 10**400}", "bits"),
        (NAMED, ["record"], {}, "'rows_per_unit' is missing"),
        (NAMED, ["record", "rows_per_unit"], 0, "at least 1"),
        (NAMED, ["record", "remaining", "exact"], "1e99999999", "finite number"),
        (NAMED, ["record", "remaining", "exact"], "2", "what is remaining"),
        (NAMED, ["record", "total", "exact"], "0", "the total must be greater than 0"),
        (NAMED, ["record", "total", "exact"], "1001", "at most 1000"),
        (NAMED, ["record", "private"], ..., "'private' is missing"),
        (NAMED, ["record", "private"], None, "private must be true or false"),
        (NAMED, ["record", "ledger"], 3, "ledger must be a text"),
        (NAMED, ["record", "dataset"], "\ud800", "surrogate"),
        (NAMED, ["record", "created"], "0001-01-01T00:00:00+14:00", "created must be a date"),
        (NAMED, ["record", "versions"], [1], "versions must be a mapping"),
        (NAMED, ["record", "entries", 0, "number"], "1", "the number of an entry"),
        (NAMED, ["record", "entries", 0, "lineage"], "rows", "lineage must be a list"),
        (NAMED, ["record", "entries", 0, "epsilon"], 0.5, "'exact' is missing"),
        (CHOSEN, ["choice"], {"left": 3}, "'algorithm' is missing"),
        (CHOSEN, ["choice", "algorithm"], "hb", "'hb' was chosen, 'identity' was run"),
        (CHOSEN, ["choice", "left", "exact"], "0.1", "the parts of the choice cost"),
        (CHOSEN, ["choice", "bought", 0, "value"], HUGE, "the value of a feature must be a finite number"),
        (CHOSEN, ["choice", "errors"], {"hb": "1"}, "errors must be a finite number"),
        (CHOSEN, ["choice", "regrets", "hb"], float("inf"), "holds Infinity"),
    ],
)
def test_files_of_strangers_are_checked(tmp_path, found, path, to, message):
    found = found if isinstance(found, dict) else plain(found)
    with pytest.raises(BadInput, match=message):
        load(tmp_path, change(found, path, to))


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("mwem", {"rounds": "abc"}),
        ("mwem", {"total_share": 2}),
        ("dawa", {"lengths": "odd"}),
        ("dpcube", {"price": "1e350"}),
        ("ahp", {"eta": 1e-30}),
        ("private-resolution", {"plenty": "1e350"}),
        ("structure-first", {"buckets": -1}),
    ],
)
def test_options_that_the_algorithm_would_refuse_are_refused(tmp_path, algorithm, options):
    found = plain(release_of(ad.Histogram("age"))) | {"algorithm": algorithm, "options": options}
    assert load(tmp_path, found | {"options": {}}).algorithm == algorithm
    with pytest.raises(BadInput, match=next(iter(options))):
        load(tmp_path, found)


def test_what_a_later_version_adds_is_left_out(tmp_path):
    found = plain(NAMED)
    for inner in (found, found["record"], found["record"]["entries"][0]):
        inner["colour"] = "blue"
    assert load(tmp_path, found).to_dict() == NAMED.to_dict()


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.json").write_text("[" * 10**5)
    (tmp_path / "d.json").write_text('{"format": NaN}')
    (tmp_path / "e.json").write_text("[]")
    for name, message in (
        ("a.json", "is not a JSON file"),
        ("b.json", "is not a JSON file"),
        ("c.json", "is nested too deeply"),
        ("d.json", "holds NaN"),
        ("e.json", "is not a release"),
        ("f.json", "does not exist"),
        (".", "does not exist"),
    ):
        with pytest.raises(BadInput, match=message):
            ad.Release.load(tmp_path / name)


STRANGE = [
    *(..., None, True, 0, -1, 1, 2, 1.5, 1e308, -1e19, 10**30, HUGE, 2**62),
    *(float("nan"), float("inf"), "", "x", "\ud800", "1/0", "0", "-1", "1/3", "1e-30", "1e99999999", "dawa", "age"),
    *([], {}, [[1]], ["age"], {"age": 1}, {"exact": "1e-300"}, {"exact": "1/7"}, {"from": 2, "to": None}),
]


def paths(found, way=()):
    """The ways to all parts."""
    if way:
        yield way
    if isinstance(found, dict | list):
        for step in found if isinstance(found, dict) else range(min(2, len(found))):
            yield from paths(found[step], (*way, step))


@pytest.mark.parametrize("found", [plain(NAMED), CHOSEN, plain(ASKED)], ids=["named", "chosen", "asked"])
def test_what_can_be_loaded_can_be_used(tmp_path, found):
    dice = random.Random(7)
    ways = [way for way in paths(found) if way[0] not in ("axes", "expected_error")]
    used = 0
    for number in range(60):
        spoiled = found
        for _ in range(dice.choice((1, 1, 2))):
            way = dice.choice(ways)
            try:
                spoiled = change(spoiled, way, dice.choice(STRANGE))
            except (KeyError, IndexError, TypeError):
                continue  # the part is gone already
        try:
            release = load(tmp_path, spoiled)
        except BadInput:
            continue
        used += 1
        assert str(release.explain())
        assert "<svg" in release._repr_html_()
        assert repr(release).startswith("<release")
        assert len(release.to_frame(release.schema.names, integer=True, nonnegative=True)) == release.estimate.size
        assert np.isfinite([release.answer({}), release.interval({}).upper]).all()
        release.save(tmp_path / str(number))
        assert ad.Release.load(tmp_path / str(number)).to_dict() == release.to_dict()
    assert used > 0


def test_spreadsheets_run_nothing(tmp_path):
    """Labels and names that begin like a formula are written with an apostrophe; numbers are not."""
    odd = "=cmd|' /C calc'!A1"
    levels = [odd, "+1 day", "-5", "@home", "\tindented", " =1+1", "plain", "a=b"]
    schema = ad.Schema({"-x": ad.Categorical(levels), "n": ad.Integer(-2, 1, nulls="level")})
    table = pd.DataFrame({"-x": levels, "n": range(-2, 6)})
    release = ad.Session(table, schema=schema, epsilon=1).release(ad.Marginals(way=1), "0.5", algorithm="identity")
    release.save(tmp_path / "out")
    csv = pd.read_csv(tmp_path / "out" / "tables.csv", dtype=str)
    neutral = ["'" + odd, "'+1 day", "-5", "'@home", "'\tindented", "' =1+1", "plain", "a=b"]
    assert csv["'-x"].dropna().tolist() == neutral
    assert csv["n"].dropna().tolist() == ["-2", "-1", "0", "1", "(null)"]
    assert set(pd.read_csv(tmp_path / "out" / "estimate.csv")["'-x"]) == set(neutral)
    assert ad.Release.load(tmp_path / "out").axes["-x"] == tuple(levels)  # the JSON file keeps the true label


def test_no_two_columns_or_labels_become_one(tmp_path):
    table = pd.DataFrame({"=a": ["=x", "'=x"], "'=a": [True, False]})
    schema = ad.Schema({"=a": ad.Categorical(["=x", "'=x"]), "'=a": ad.Boolean()})
    session = ad.Session(table, schema=schema, epsilon=1)
    session.release(ad.Histogram("=a", "'=a"), 1, algorithm="identity").save(tmp_path / "out")
    cells = pd.read_csv(tmp_path / "out" / "estimate.csv")
    assert list(cells)[:3] == ["'=a", "''=a", "count"]
    assert len(cells.groupby(["'=a", "''=a"])) == len(cells)


def test_many_tables_are_one_tidy_file(tmp_path):
    """One column for each attribute, whatever its name; blank where the table is summed over it."""
    names = ["a/b", "a b", "A_B", "../..", "é" * 80, "x" * 200, "x" * 200 + "y", "table", "count"]
    schema = ad.Schema({name: ad.Boolean() for name in names})
    table = pd.DataFrame({name: [True, False] for name in names})
    release = ad.Session(table, schema=schema, epsilon=1).release(ad.Marginals(way=1), "0.5", algorithm="identity")
    release.save(tmp_path / "out")
    tidy = pd.read_csv(tmp_path / "out" / "tables.csv")
    assert list(tidy)[: len(names) + 2] == ["table_", *names, "count_"]
    assert len(tidy) == 2 * len(names)
    assert (tidy[names].notna().sum(axis=1) == 1).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_answers_to_queries_have_a_file(tmp_path):
    ASKED.save(tmp_path / "out", integer=True)
    answers = pd.read_csv(tmp_path / "out" / "answers.csv")
    assert answers["query"].tolist() == ["age 2 to 5", "age 1 or 6, sex F"]
    assert answers["count"].tolist() == ASKED.answer(ASKED.workload, integer=True).tolist()


def test_a_release_takes_the_place_of_another(tmp_path):
    NAMED.save(tmp_path / "out")
    with pytest.raises(BadInput, match="overwrite=True"):
        ASKED.save(tmp_path / "out")
    ASKED.save(tmp_path / "out", overwrite=True)
    assert ad.Release.load(tmp_path / "out").to_dict() == ASKED.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / "out" / "tables").mkdir()
    (tmp_path / "out" / "tables" / "mine.txt").touch()
    with pytest.raises(BadInput, match=r"mine\.txt"):
        NAMED.save(tmp_path / "out", overwrite=True)
    assert ad.Release.load(tmp_path / "out").to_dict() == ASKED.to_dict()
