"""Adyton's synthetic rows beside those of OpenDP's AIM and MST: ``python beside_rows.py DATA FOLDER EPSILON [RUNS]``.

FOLDER has what ``opendp_rows.py`` wrote. Ours are made from the same rows by ``auto`` with the label declared, with
pure ε and simulated noise; there may be several runs. All are judged as in ``adyton bench tables``: the tables of pairs
of the models beside those of the rows that they were made from, and gradient boosting on their synthetic rows by the
same held-out real rows.
"""

import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from table_rows import table_of

from adyton.marginals.refining import sampled_codes
from adyton_lab.bench.table_grid import AUTO, released, truth_of
from adyton_lab.bench.table_scores import LEARNING, boosted
from adyton_lab.corpus.labelled_tables import split

COLUMNS = "in groups", "in cells", "correlations", "means", "accuracy", "area", "seconds"
PEERS = "aim", "aim-3", "mst"
data, folder, epsilon = sys.argv[1], Path(sys.argv[2]), Fraction(sys.argv[3])
trials = int(sys.argv[4]) if len(sys.argv) > 4 else 1
print(f"{'':32}" + "".join(f"{name:>14}" for name in COLUMNS))
areas: dict[str, list[float]] = {}
for name in sorted({file.stem.split(", ", 1)[1] for file in folder.glob("*.npz")}):
    table = table_of(name, data)
    learnt, held = (table.codes[places] for places in split(len(table.codes), LEARNING, 0))
    truth = truth_of(table, learnt)
    made = [("real rows", learnt, truth.pairs, 0.0)]
    for seed in range(trials):
        begun = time.process_time()
        _, model = released(truth, AUTO, epsilon, seed, table.target.label)
        rows = np.concatenate(list(sampled_codes(model, len(learnt), seed=seed)))
        made.append(("auto", rows, model.all_pairs(), time.process_time() - begun))
    for method in PEERS:
        file = folder / f"{method}, {name}.npz"
        if file.is_file():
            with np.load(file) as theirs:
                places = {key: f"a{place}" for place, key in enumerate(table.schema.names)}
                pairs = {pair: theirs[" ".join(places[key] for key in pair)].astype(np.float64) for pair in truth.pairs}
                words = method if theirs["finished"] else f"{method} (not finished)"
                made.append((words, theirs["codes"].astype(np.int64), pairs, float(theirs["seconds"])))
    for words, rows, pairs, seconds in made:
        scores = truth.scores(pairs)
        accuracy, area = boosted(rows, held, -1)
        figures = [scores.in_groups, scores.in_cells, scores.correlations, scores.means, accuracy, area, seconds]
        numbers = [float("nan") if figure is None else figure for figure in figures]
        print(f"{name}, {words}".ljust(32) + "".join(f"{number:14.4f}" for number in numbers), flush=True)
        areas.setdefault(f"{name}, {words}", []).append(area)
for method in PEERS:
    both = [name.removesuffix(f", {method}") for name in areas if name.endswith(f", {method}")]
    if both:
        ours, theirs, real = (
            float(np.mean([np.mean(areas[f"{name}, {way}"]) for name in both])) for way in ("auto", method, "real rows")
        )
        print(f"mean area over {len(both)} tables: auto {ours:.4f}, {method} {theirs:.4f}, real rows {real:.4f}")
