"""Adyton's numbers beside OpenDP's and diffprivlib's on the same rows: ``beside_numbers.py DATA theirs.json [RUNS]``.

The release that ``auto`` makes, with simulated noise, at the same ε, in as many runs as are asked for. Errors are root
mean squares over runs, a twentieth of a cell at least, for each group; a ratio is the geometric mean over groups. Of
each library the setting counts that is best there.
"""

import json
import sys

import numpy as np

from adyton_lab.bench.numbers import EPSILONS, STATISTICS, cell_width, measured
from adyton_lab.corpus.tables import JUDGED, number_rows

RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 40

with open(sys.argv[2]) as file:
    theirs = json.load(file)
libraries = sorted({setting.split(",")[0] for setting in theirs})
logs = {}
print(f"{'':46}" + "".join(f"{name:>16}" for name in ("ours", *libraries)))
for statistic in sys.argv[4:] or STATISTICS:
    for epsilon in EPSILONS:
        for case in JUDGED:
            rows = number_rows(case, sys.argv[1], public=True)
            ours = measured(rows, statistic, epsilon, RUNS).errors
            key, shown = f"{case}, {statistic}, {epsilon}", [float(np.exp(np.log(ours).mean()))]
            for library in libraries:
                found = {
                    setting: np.maximum(np.array(errors[key]).T, 0.05 * cell_width(rows))
                    for setting, errors in theirs.items()
                    if setting.startswith(library) and key in errors
                }
                best = min(found, key=lambda setting: np.log(found[setting]).mean())
                logs.setdefault((statistic, epsilon, library), []).append(float(np.log(ours / found[best]).mean()))
                shown.append(float(np.exp(np.log(found[best]).mean())))
            print(f"{key:46}" + "".join(f"{one:16.4g}" for one in shown), flush=True)
print("\nOur error, in times that of the other library: geometric mean over tables")
for (statistic, epsilon, library), found in logs.items():
    print(
        f"{statistic:20} ε = {epsilon:4} {library:12} {np.exp(np.mean(found)):6.3f}   worst {np.exp(max(found)):6.3f}"
    )
