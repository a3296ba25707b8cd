"""The case studies on small made-up data: every file, a run that goes on, and the paper's figures beside ours."""

import csv
import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.plans import plan_named
from adyton.queries import Partition
from adyton.schema import Integer, Schema
from adyton_lab.reproduce import census, dawa, ektelo
from adyton_lab.reproduce.census import Census
from adyton_lab.reproduce.dawa import Roads
from adyton_lab.reproduce.dawa_report import EVALUATION as DAWA
from adyton_lab.reproduce.evaluation import Given
from adyton_lab.reproduce.outcomes import Job, Notebook, Outcome, means
from adyton_lab.reproduce.sheets import compared

SMALL = Schema({"income": Integer(0, 15), "age": Integer(0, 1), "sex": Integer(1, 2)})


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{random.integers(0, 16)},{random.integers(0, 2)},{random.integers(1, 3)}" for _ in range(200)]
    with gzip.open(tmp_path / census.FILE, "wt") as file:
        file.write("\n".join(["income,age,sex", *lines]) + "\n")
    return tmp_path


@pytest.mark.full
def test_the_census_writes_all_files_and_goes_on_where_it_was(folder, monkeypatch):
    monkeypatch.setattr(census, "SCHEMA", SMALL)
    out = folder / "out"
    arguments = ["reproduce", "census", "--data", str(folder), "--out", str(out), "--quick", "--quiet"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2
    assert not out.exists()
    assert CliRunner().invoke(app, [*arguments, "--public"]).exit_code == 0
    with (out / "records.csv").open() as file:
        rows = list(csv.DictReader(file))
    given = Given(data=folder, folder=out, public=True, quick=True, kept=None)
    assert len(rows) == census.EVALUATION.start(given)[0]
    assert {row["method"] for row in rows} == {census.ZEROS, *census.NETWORKS, *census.PLANS, census.NOT_PRIVATE}
    titles = [sheet["title"] for sheet in json.loads((out / "tables.json").read_text())]
    assert "The paper's figures compared with ours" in titles
    report = (out / "report.html").read_text()
    assert "Answering zeros has an error of 8.14" in report

    def never(*given, **more):
        raise AssertionError("measured again")

    monkeypatch.setattr(census, "simulate", never)
    assert CliRunner().invoke(app, [*arguments, "--public"]).exit_code == 0


def test_the_metric_of_the_census():
    """‖e‖₂/(queries·rows): a row more in one cell of 8 is 1/(8·rows); in pairs of three attributes it counts thrice."""
    table = Census(np.full((2, 2, 2), 5))
    estimate = table.counts.astype(float)
    estimate[1, 0, 1] += 4
    assert table.error("identity", estimate) == pytest.approx(4 / 8 / 40 * 1e9)
    assert table.error("2-way marginals", estimate) == pytest.approx(4 * np.sqrt(3) / 12 / 40 * 1e7)
    assert table.error("prefix (income)", estimate) == pytest.approx(4 * np.sqrt(4) / (2 * 9) / 40 * 1e7)


def test_identity_errs_as_in_table_1_with_continuous_noise():
    """24.18 = 10⁹·√(2/1.4 million)/49,436, as the paper says. Discrete noise at ε = 1 has a variance of 1.84 in place
    of 2, and errs by 23.2 on as many rows. A deviation is 0.1% of either."""
    counts = np.zeros(census.SCHEMA.shape, dtype=np.int64)
    counts[0, 0, 0, 0, 0] = 49_436
    table, random = Census(counts), np.random.default_rng(0)
    assert table.error("identity", counts + random.laplace(size=counts.shape)) == pytest.approx(24.18, rel=0.006)
    tails = [random.geometric(1 - np.exp(-1), counts.shape) for _ in range(2)]
    assert table.error("identity", counts + (tails[0] - tails[1])) == pytest.approx(23.20, rel=0.006)
    expected = plan_named("identity").expected_error(table.workloads["identity"], 1).total
    assert expected / counts.size / 49_436 * 1e9 == pytest.approx(23.20, abs=0.005)


def test_a_folder_without_the_table_is_refused(tmp_path):
    given = Given(data=tmp_path, folder=tmp_path, public=True, quick=True, kept=None)
    with pytest.raises(BadInput, match=r"no cps2000.csv.gz"):
        census.EVALUATION.start(given)
    with pytest.raises(BadInput, match=r"no dpbench_1d.csv"):
        DAWA.start(given)
    with pytest.raises(BadInput, match=r"no road_california.csv.gz"):
        Roads.read(tmp_path, 16)


def test_what_was_measured_is_not_measured_again(tmp_path):
    drawn = []
    jobs = [Job("a", "b", "c", "1", "m", trial, lambda seed: drawn.append(seed) or 1.5) for trial in range(3)]
    first = Notebook(tmp_path / "kept.db").carry_out(jobs[:2], lambda steps: None)
    again = Notebook(tmp_path / "kept.db").carry_out(jobs, lambda steps: None)
    assert len(drawn) == len(set(drawn)) == 3
    assert first == again[:2]
    (mean,) = means(again)
    assert (mean.trials, mean.mean, mean.deviation) == (3, 1.5, 0)
    with pytest.raises(BadInput, match="cannot hold experiments"):
        Notebook(tmp_path).carry_out(jobs, lambda steps: None)


def test_only_large_differences_are_explained():
    assert compared("p", "here", "m", 10, 12.4, "because").why == ""
    assert compared("p", "here", "m", 10, 12.6, "because").why == "because"
    assert compared("p", "here", "m", 10, 7.9, "because").why == "because"


def test_the_least_partition_costs_least():
    """Against all partitions of ten cells."""
    x = np.array([0, 0, 0, 7, 7, 8, 30, 0, 0, 1])
    costs = []
    for cuts in range(1 << 9):
        labels = np.concatenate([[0], np.cumsum([cuts >> place & 1 for place in range(9)])])
        costs.append(dawa.partition_cost(x, Partition(labels), dawa.HALF * 5))
    found = dawa.least_partition(x, dawa.HALF * 5)
    assert dawa.partition_cost(x, found, dawa.HALF * 5) == pytest.approx(min(costs))


@pytest.mark.parametrize("second", dawa.SECOND_STEPS)
def test_second_steps_return_buckets_without_noise(second):
    x = np.repeat([4, 0, 9], [8, 16, 8])
    buckets = Partition(np.repeat([0, 1, 2], [8, 16, 8]))
    workload = dawa.workload_of("uniform intervals", 0, 32)
    estimate = dawa.measured(x, workload, buckets, second, dawa.HALF * 5000, 1)
    np.testing.assert_allclose(estimate, x, atol=0.05)


def test_the_workloads_of_dawa():
    for kind in dawa.WORKLOADS:
        workload = dawa.workload_of(kind, 0)
        assert workload.domain == (4096,)
        assert workload.count == (4096 if kind == "identity" else 2000)
    spans = [np.mean((w := dawa.workload_of(kind, 0)).upper - w.lower) for kind in dawa.WORKLOADS[2:]]
    assert 250 < spans[0] < 450  # 2·256·√(2/π), less what is cut off
    assert 800 < spans[1] < 1700


def test_every_part_of_dawa_is_shown(monkeypatch):
    random = np.random.default_rng(0)
    data = {"NETTRACE": random.poisson(np.repeat([0, 9, 2, 40], 16)), "HEPTH": random.poisson(5, 64)}
    roads = Roads(random.poisson(1, (16, 16)), (0.6, 0.6))
    monkeypatch.setattr(dawa, "protocol", lambda *, quick: dawa.Protocol(1, 1, ("0.1",), 16, 20))
    outcomes = Notebook(None).carry_out(dawa.jobs(data, roads, quick=True), lambda steps: None)
    shown = DAWA.sheets(outcomes)
    chapters = {sheet.chapter for sheet in shown}
    assert chapters == {"claims", "table1", "table2", "fig3", "fig4", "fig5", "fig6", "fig7"}
    assert all(np.isfinite(one.value) for one in outcomes)
    least = {one.data: one.value for one in outcomes if one.part == "fig5" and one.method.startswith("least")}
    assert all(one.value >= least[one.data] - 1e-9 for one in outcomes if one.part == "fig5")


def outcome(part, data, method, value, seconds=1.0):
    return Outcome(part=part, data=data, workload="", epsilon="", method=method, trial=0, value=value, seconds=seconds)


def test_the_tables_of_ektelo():
    found = [outcome("table2", "a", "hb, original", 6.0, 4.0), outcome("table2", "a", "hb, reduced", 3.0, 2.0)]
    found += [outcome("table3", data, "mwem", 8.0, 2.0) for data in "ab"]
    for name in ektelo.VARIANTS[1:]:
        found += [outcome("table3", data, name, value, 6.0) for data, value in (("a", 4.0), ("b", 16.0))]
    reduction, variants = ektelo.sheets(found)
    assert [one.here for one in reduction.found] == [2.0, 2.0]
    assert [one.here for one in variants.found[:4]] == [0.5, 1.25, 2.0, 3.0]


def test_inference_is_timed_for_each_way_to_solve():
    for way in ektelo.SOLVERS:
        assert ektelo._timed(6, way, 0) >= 0
