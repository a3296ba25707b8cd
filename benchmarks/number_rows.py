"""Public numbers by groups, for other libraries: ``python number_rows.py DATA rows.npz``.

The rows and the bounds that ``adyton bench numbers`` takes, for every attribute: the number of each row, its group, the
bounds, the width of a cell, and the cells' values.
"""

import sys

import numpy as np

from adyton.statistics.grouped import GroupedNumbers
from adyton.tasks import Mean
from adyton_lab.bench.numbers import cell_width
from adyton_lab.corpus.tables import JUDGED, number_rows

found = {}
for case in JUDGED:
    rows = number_rows(case, sys.argv[1], public=True)
    numbers = GroupedNumbers.of(Mean(case.attribute), case.schema)
    facts = np.array([float(case.numbers.min), float(case.numbers.max), cell_width(rows), len(rows.grouped(True))])
    found |= {f"{case}.values": rows.values, f"{case}.lines": rows.lines, f"{case}.facts": facts}
    found |= {f"{case}.cells": numbers.middles}
np.savez_compressed(sys.argv[2], **found)
