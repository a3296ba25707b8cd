"""Learning rows of public tables as cells, for other libraries: ``python table_rows.py DATA rows.npz``.

The tables, the 75% of the rows and the cells, at most 64 for each number, are those of ``adyton bench tables`` in its
first trial.
"""

import sys
from pathlib import Path

import numpy as np

from adyton.schema.cell_groups import coarsened
from adyton_lab.bench.table_grid import CELLS
from adyton_lab.bench.table_scores import LEARNING
from adyton_lab.corpus.fine_tables import at, fine_table
from adyton_lab.corpus.labelled_tables import LabelledTable, split

TABLES = ("adult", "bike, working day", "churn", "couples", "crashes", "diamonds, cut", "nursery", "wages")
TABLES += ("insurance", "light chains", "stroke")
MOST = 64


def table_of(name: str, data: str) -> LabelledTable:
    """A table with at most 64 cells for each number."""
    finest = fine_table(name, Path(data), CELLS[-1], public=True)
    return at(finest, coarsened(finest.schema, MOST))


if __name__ == "__main__":
    arrays = {}
    for name in TABLES:
        table = table_of(name, sys.argv[1])
        arrays[f"{name}.codes"] = table.codes[split(len(table.codes), LEARNING, 0)[0]].astype(np.int16)
        arrays[f"{name}.sizes"] = np.array(table.schema.shape)
    np.savez_compressed(sys.argv[2], **arrays)
