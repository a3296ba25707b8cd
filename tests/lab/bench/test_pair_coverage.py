"""Expected errors and intervals of pairs, on a table whose attributes are known."""

import numpy as np
import pandas as pd

from adyton_lab.bench.tables import pair_coverage
from adyton_lab.corpus.tables import TABLES


def test_measured_pairs_have_intervals_and_all_pairs_expected_errors(tmp_path):
    file, attributes = TABLES["titanic"]
    random, rows = np.random.default_rng(1), 1500
    columns = {name: random.integers(0, 2, rows) for name in attributes}
    pd.DataFrame(columns).to_csv(tmp_path / file, index=False)
    records = list(pair_coverage(tmp_path, 1, public=True))
    assert [record.epsilon for record in records] == ["0.1", "0.1", "1", "1", "10", "10"]
    for record in records:
        if record.kind == "pairs that were measured" and record.intervals:
            assert record.holds > 90  # mostly empty cells, whose estimates are near 0
        if record.kind != "pairs that were measured":
            assert record.intervals == 0
            assert record.holds is None
            assert record.expected is None or record.expected > 0.9  # upper limits: here nothing depends on anything
        else:
            assert record.expected is None or 0.2 < record.expected < 10
    assert records[-2].intervals > 100  # with ε = 10, all pairs are measured, those of few cells cell by cell
