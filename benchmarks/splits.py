"""Write public tables as numbers of cells, and twenty splits of each: ``python splits.py DATA splits.npz``."""

import sys

import numpy as np

from adyton_lab.bench.choices import TABLES
from adyton_lab.corpus.labelled_tables import labelled_table, split
from adyton_lab.training.classifiers import LEARNING

SPLITS = 20

arrays = {}
for name in TABLES:
    table = labelled_table(name, sys.argv[1], public=True)
    arrays[f"{name}.codes"] = table.codes
    arrays[f"{name}.sizes"] = np.array(table.schema.shape)
    arrays[f"{name}.learning"] = np.array([split(len(table.codes), LEARNING, trial)[0] for trial in range(SPLITS)])
    arrays[f"{name}.judging"] = np.array([split(len(table.codes), LEARNING, trial)[1] for trial in range(SPLITS)])
np.savez_compressed(sys.argv[2], **arrays)
