"""``adyton reproduce configuration``: the bound, the pools, all files, and what is claimed."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, StepCurve, Utility
from adyton.kernel.instances.votes import StepVote
from adyton_lab.reproduce import configuration, configuration_report
from adyton_lab.reproduce.configuration import (
    Pool,
    Protocol,
    Windows,
    best_place,
    bound,
    drawn_place,
    kinds,
    summed_up,
    tuned_on,
)
from adyton_lab.reproduce.configuration_report import all_sheets, claims, means

SMALL = Protocol((5, 200), ("1", "3"), 2, 220, 20)


def kind_of(label):
    return next(kind for kind in kinds() if kind.label == label)


@pytest.fixture(scope="module")
def records():
    chosen = [kind_of("auction, regions"), kind_of("knapsack, strong"), kind_of("max-cut, gnp, expected")]
    return [tuned for number, kind in enumerate(chosen) for tuned in tuned_on(kind, SMALL, number)]


def vote(*pieces):
    return StepVote(*(np.array(column, dtype=np.int64) for column in zip(*pieces, strict=True)))


def test_the_bound_by_hand():
    """The optimum stands at a quarter. One instance changes nearby, one far away, one never."""
    quarter = POINTS // 4
    votes = [
        vote((0, 0), (quarter - 99, UNIT), (quarter + 100, 0)),
        vote((0, UNIT), (3 * quarter, 0)),
        vote((0, 7), (quarter, 7)),
    ]
    windows = Windows.of(votes, quarter)
    whole = math.log(100)
    expected = [(whole + math.log(POINTS / 199), 0), (whole + math.log(4 / 3), 1), (whole, 2)]
    for epsilon in (0.1, 1.0, 10.0, 1000.0):
        by_hand = min(log / epsilon + changing for log, changing in expected)
        assert bound(windows, epsilon, 0.01) == pytest.approx(by_hand, rel=1e-6)
        halved = min((log + math.log(2)) / epsilon + changing for log, changing in expected)
        assert bound(windows, epsilon, 0.01, prior=0.5) == pytest.approx(halved, rel=1e-6)


def test_the_bound_holds_as_often_as_it_says():
    """ζ = ½ on a hard case: a needle in flat hay. 300 draws; five standard deviations: a false alarm in 3·10⁶ runs."""
    start = 1 << 20
    votes = [vote((0, 0), (start, UNIT), (start + (1 << 22), 0))] * 8
    pool = Pool(None, [], Lattice(0.0, 1.0))
    sums = summed_up(votes, range(8), pool, Utility.named("regret"))
    limit = bound(Windows.of(votes, best_place(sums)), 1.0, zeta=0.5)
    drawn = np.array([drawn_place(sums, pool.lattice, "1", [seed]) for seed in range(300)])
    lost = (sums.tops.max() - sums.at(drawn)) / UNIT
    assert 0 < limit < 8
    assert (lost > limit).mean() < 0.5 + 5 * 0.5 / math.sqrt(300)


def test_regret_is_relative_and_by_hand():
    curves = [
        StepCurve(np.array([0, 10]), np.array([4.0, 5.0])),
        StepCurve(np.array([0, 20]), np.array([-10.0, -11.0])),
        StepCurve(np.array([0]), np.array([0.0])),
    ]
    pool = Pool(None, curves, Lattice(0.0, 1.0))
    assert [pool.regret(place) for place in (0, 10, 25)] == pytest.approx([0.2 / 3, 0.0, 0.1 / 3])


@pytest.mark.full
def test_records_are_reproducible_and_bounded(records):
    again = list(tuned_on(kind_of("knapsack, strong"), SMALL, 1))
    assert again == [one for one in records if one.kind == "strong"]
    assert all(0 <= one.loss <= one.bound for one in records)
    regions = {(one.instances, one.utility): one for one in means(records) if one.kind == "regions"}
    assert regions[200, "clip 0.1"].gain > 1
    assert {one.utility for one in records} == set(configuration.UTILITIES)


@pytest.mark.full
def test_costs_have_no_value(records):
    routing = list(tuned_on(kind_of("routing, random"), replace(SMALL, sizes=(5,), to_tune=5, to_judge=5), 0))
    assert {one.utility for one in routing} == set(configuration.UTILITIES) - {"value"}


@pytest.mark.full
def test_tables_say_where_tuning_pays(records):
    sheets = {sheet.title.split(":")[0]: sheet for sheet in all_sheets(records)}
    assert [row[0] for row in sheets["Where tuning is worthwhile"].rows] == ["auction, regions"]
    assert sheets["Where tuning is not worthwhile"].rows[0][0] == "knapsack, strong"
    bound_said, *_ = claims(means(records))
    assert bound_said.holds == "yes"
    broken = [replace(one, loss=one.bound + 1) for one in records]
    assert next(iter(claims(means(broken)))).holds == "no"


@pytest.mark.full
def test_everything_is_written(records, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(configuration_report, "run", lambda *_: records)
    done = CliRunner().invoke(app, ["reproduce", "configuration", "--out", str(tmp_path), "--quick", "--json"])
    assert done.exit_code == 0, done.output
    pictures = {"bound", "regret-auction", "regret-knapsack", "regret-max-cut"}
    drawn = {f"{name}.{kind}" for name in pictures for kind in ("svg", "png")}
    texts = {"records.jsonl", "records.csv", "tables.json", "tables.txt", "report.html"}
    assert {path.name for path in tmp_path.iterdir()} == drawn | texts
    rows = list(csv.DictReader((tmp_path / "records.csv").open(encoding="utf-8")))
    assert [float(row["loss"]) for row in rows] == [one.loss for one in records]
    assert {one["title"].split(":")[0] for one in json.loads(done.stdout)} >= {"Where tuning is worthwhile"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(pictures)
    assert "adyton reproduce configuration --quick" in page


def test_no_data_are_wanted(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "configuration", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "Leave out --data" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["reproduce", "jostle", "--public", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "needs public data" in " ".join(done.output.split())


def test_steps_are_counted(monkeypatch):
    told = []
    kind = kind_of("knapsack, strong")
    monkeypatch.setattr(configuration, "kinds", lambda: [kind])
    configuration.run(SMALL, told.append)
    assert sum(told) == SMALL.steps(1)
