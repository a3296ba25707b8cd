"""Write public tables as numbers of cells, and splits of each: ``python splits.py DATA splits.npz 5``."""

import sys
from pathlib import Path

import numpy as np

from adyton_lab.bench.classifiers import FINEST, LEARNING
from adyton_lab.corpus.fine_tables import TABLES, fine_table
from adyton_lab.corpus.labelled_tables import split

folder, file, splits = Path(sys.argv[1]), sys.argv[2], range(int(sys.argv[3]))
arrays = {}
for name in TABLES:
    table = fine_table(name, folder, FINEST, public=True)
    arrays[f"{name}.codes"] = table.codes
    arrays[f"{name}.sizes"] = np.array(table.schema.shape)
    arrays[f"{name}.learning"] = np.array([split(len(table.codes), LEARNING, trial)[0] for trial in splits])
    arrays[f"{name}.judging"] = np.array([split(len(table.codes), LEARNING, trial)[1] for trial in splits])
np.savez_compressed(file, **arrays)
