"""The benchmark of plans, at a small size."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.plans import plan_named
from adyton.queries import Identity, Prefix
from adyton_lab.bench.common import shapes
from adyton_lab.bench.peers import inference
from adyton_lab.bench.plans import SCALES, plans, published_errors, published_tables, published_times, workloads
from adyton_lab.corpus import made_up_corpus
from adyton_lab.corpus.public_files import draw


def test_records_hold_what_was_measured():
    _, (cells, prefixes) = plans(((1, 64, "1"),), plans=["hb"], trials=300)
    for record, workload in ((cells, Identity(64)), (prefixes, Prefix(64))):
        expected = plan_named("hb").expected_error(workload, 1).total
        assert record.expected == pytest.approx(expected)
        for error in record.errors:  # the mean norm lies below the root mean square
            assert 0.75 * expected < error < 1.02 * expected
        assert record.milliseconds > 0
        assert record.unprepared > 0
        assert record.sorts > 0
        assert record.times_faster is None  # nothing was published for 64 cells


def test_published_figures_lead_to_ratios():
    _, (record, _) = plans(((1, 4096, "1"),), plans=["identity"], trials=3)
    assert record.to_published == pytest.approx(0.96, abs=0.03)
    assert record.to_dawa == pytest.approx(1.19, abs=0.05)
    assert record.times_faster > 0


def test_published_tables_agree_with_each_other():
    found = published_tables()["errors"]
    assert len(found) == 8
    for place in found:
        ndim, side, epsilon, workload = place.split("/")
        assert published_times(int(ndim), int(side))
        for scales in published_errors(int(ndim), int(side), epsilon, workload).values():
            assert len(scales) == len(SCALES)


@pytest.mark.parametrize("ndim", [1, 2])
def test_made_up_shapes(ndim):
    for name, shape in shapes(ndim, 32).items():
        assert shape.shape == (32,) * ndim, name
        assert shape.min() >= 0
        assert draw(shape, 1000, 0).sum() == 1000
    assert [shape.name for shape in made_up_corpus(ndim)] == list(shapes(ndim, 32))
    assert all(workload.domain == (32,) * ndim for workload in workloads(ndim, 32).values())


def test_shapes_from_a_folder(tmp_path):
    rows = "\n".join(f"{place},{place % 7},{1 + place % 3}" for place in range(64))
    (tmp_path / "dpbench_1d.csv").write_text(f"bin,ONE,TWO\n{rows}\n")
    found = shapes(1, 32, tmp_path, public=True)
    assert list(found) == ["ONE", "TWO"]
    assert found["TWO"].tolist()[:2] == [1 + 2, 3 + 1]
    with pytest.raises(BadInput, match="divisor"):
        shapes(1, 24, tmp_path, public=True)
    with pytest.raises(BadInput, match="dpbench_2d"):
        shapes(2, 32, tmp_path, public=True)


def test_inference_is_compared():
    _, (least, positive) = inference(1 << 10, 1 << 8)
    assert least.reached < 1e-10
    assert positive.reached < 1e-6
    assert least.times_faster > 0
    assert positive.times_faster > 0


def run(*arguments):
    return CliRunner().invoke(app, ["bench", *arguments])


def test_command_refuses_what_it_does_not_know():
    for arguments in (["planes"], ["plans", "--plan", "bh"], ["plans", "--data", "nowhere", "--public"]):
        done = run(*arguments)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1
        assert not done.stdout


def test_command_prints_json(monkeypatch):
    import adyton_lab.bench.plans as module

    monkeypatch.setattr(module.plans, "__defaults__", (((1, 32, "1"),),))
    done = run("plans", "--plan", "hb", "--trials", "2", "--json")
    assert done.exit_code == 0, done.stderr
    records = json.loads(done.stdout)
    assert [record["workload"] for record in records] == ["identity", "prefix"]
    assert np.isfinite(records[0]["errors"]).all()
    assert "hb" in run("plans", "--plan", "hb", "--trials", "2").stdout
