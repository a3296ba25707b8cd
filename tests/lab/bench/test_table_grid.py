"""The grid that judges tables of pairs and synthetic rows, on a made-up table whose dependences are known."""

import numpy as np
import pandas as pd
import pytest

from adyton.errors import BadInput
from adyton_lab.bench import table_grid
from adyton_lab.bench.table_scores import boosted
from adyton_lab.corpus import fine_tables
from adyton_lab.corpus.fine_tables import FineTable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    random, rows = np.random.default_rng(1), 1200
    a = random.integers(0, 40, rows)
    columns = {
        "a": a,
        "b": 39 - a,  # correlation −1
        "c": random.integers(0, 40, rows),
        "kind": np.where(a + random.integers(0, 20, rows) < 30, "low", "high"),
        "label": np.where(a < 20, "yes", "no"),
    }
    pd.DataFrame(columns).to_csv(tmp_path / "small.csv", index=False)
    small = FineTable("small.csv", "label", dict.fromkeys("abc", (0, 39)), ("kind",))
    monkeypatch.setattr(fine_tables, "TABLES", {"small": small})
    monkeypatch.setattr(table_grid, "GRID", ("small",))
    return tmp_path


def test_grid_sees_what_is_right_and_what_is_wrong(folder):
    _, suite = table_grid.tables(data=folder, public=True, trials=1, epsilons=["50"])
    records = list(suite)
    fine = (64, 256, 1024)  # the same table
    by_way = {(record.cells, record.way): record for record in records if record.table == "small"}
    for cells in ((16,), fine):
        independence, auto = by_way[cells, "independence"], by_way[cells, "auto"]
        assert max(auto.in_groups, auto.in_cells, auto.correlations, auto.means) < 0.02
        assert independence.correlations == pytest.approx(np.sqrt(1 / 3), abs=0.05)  # one of three pairs is off by 1
        assert independence.means > 0.3
        assert independence.in_groups > 0.2
        assert independence.in_cells > independence.in_groups
        assert independence.measured == 0
        assert auto.measured > 0
        assert independence.within is None
        assert 0 <= auto.within <= 1
    real, auto = by_way[fine, "real rows"], by_way[fine, "auto"]
    assert min(real.area, auto.area) > 0.98
    assert by_way[fine, "select-pairs"].area is None  # ε is not 1
    named = [by_way[fine, way] for way in table_grid.NAMED]
    (beside,) = [r for r in records if (r.table, r.way, r.cells) == ("all", "auto ÷ best", (256,))]
    assert beside.in_cells == pytest.approx(auto.in_cells / min(record.in_cells for record in named))
    (mean,) = [r for r in records if (r.table, r.way, r.cells) == ("all", "auto", (16, 64, 256, 1024))]
    assert mean.in_cells == pytest.approx((by_way[(16,), "auto"].in_cells + 3 * auto.in_cells) / 4)
    cliffs = [record for record in records if record.way.startswith("auto, three columns")]
    assert [record.cells for record in cliffs] == [(16,), (1024,)] * 2
    assert all(record.in_groups < 0.02 for record in cliffs)


def test_only_tables_of_the_grid(folder):
    with pytest.raises(BadInput, match="small"):
        table_grid.tables(data=folder, public=True, tables=["large"])


def test_rows_of_one_class_predict_that_class():
    held = np.array([[0, 0], [1, 1], [2, 1]])
    assert boosted(np.array([[0, 1], [1, 1]]), held, -1) == (2 / 3, 0.5)
