"""Public numbers by groups, for other libraries: ``python number_rows.py DATA rows.npz``.

The rows and the bounds that ``adyton bench numbers`` takes, for every attribute: the number of each row, its group, the
bounds, and the width of a cell.
"""

import sys

import numpy as np

from adyton.lab.bench.numbers import cell_width
from adyton.lab.corpus.number_tables import JUDGED, number_rows

found = {}
for case in JUDGED:
    rows = number_rows(case, sys.argv[1], public=True)
    grid = case.numbers
    facts = np.array([float(grid.min), float(grid.max), cell_width(rows), len(rows.grouped(True))])
    found |= {f"{case}.values": rows.values, f"{case}.lines": rows.lines, f"{case}.facts": facts}
np.savez_compressed(sys.argv[2], **found)
