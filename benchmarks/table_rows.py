"""Learning rows of the tables of ``adyton bench tables`` as cells, for other libraries: ``python table_rows.py DATA
rows.npz``.

Each number has at most 64 cells; the same 75% of the rows as in the first trial of that benchmark.
"""

import sys
from pathlib import Path

import numpy as np

from adyton_lab.corpus.fine_tables import at_most, fine_table
from adyton_lab.corpus.labelled_tables import split

TABLES = ("adult", "bike, working day", "churn", "couples", "crashes", "diamonds, cut", "nursery", "wages")
TABLES += ("hotels", "stroke", "credit")
CELLS, FINEST, LEARNING, TRIAL = 64, 1024, 0.75, 0

arrays = {}
for name in TABLES:
    table = at_most(fine_table(name, Path(sys.argv[1]), FINEST, public=True), CELLS)
    learnt, _ = split(len(table.codes), LEARNING, TRIAL)
    arrays[f"{name}.codes"] = table.codes[learnt].astype(np.int16)
    arrays[f"{name}.sizes"] = np.array(table.schema.shape)
np.savez_compressed(sys.argv[2], **arrays)
