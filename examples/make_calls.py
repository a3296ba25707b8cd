"""Write calls.csv: emergency calls in a county that does not exist. The same file every time.

    python examples/make_calls.py

One row is one call. Most people call once or twice; a few call very often.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

PEOPLE = 1_600
KINDS = {
    "chest pain": 9, "breathing": 10, "fall": 12, "traffic accident": 17, "fire alarm": 8, "gas leak": 2,
    "unconscious": 5, "overdose": 4, "assault": 3, "stroke": 4, "birth": 1, "allergy": 2, "burn": 1, "other": 6,
}  # fmt: skip
TOWNS = np.array([[-75.31, 40.12], [-75.55, 40.24], [-75.20, 40.20], [-75.42, 40.06]])


def main() -> None:
    """Draw the calls and write them beside this script."""
    generator = np.random.default_rng(20_240_503)
    often = np.minimum(generator.geometric(0.62, PEOPLE), 12)
    often[:6] = (140, 65, 40, 31, 24, 19)
    caller = np.repeat(np.arange(PEOPLE), often)
    caller = generator.permutation(caller)
    rows = caller.size
    hours = np.array([3, 2, 2, 1, 1, 2, 3, 5, 6, 6, 6, 7, 7, 7, 7, 7, 8, 8, 7, 6, 5, 5, 4, 3], dtype=float)
    day = np.sort(generator.integers(0, 12 * 7, rows))
    hour = generator.choice(24, rows, p=hours / hours.sum())
    seconds = day * 86_400 + hour * 3_600 + generator.integers(0, 3_600, rows)
    when = np.datetime64("2024-01-01T00:00:00") + seconds.astype("timedelta64[s]")
    weights = np.array(list(KINDS.values()), dtype=float)
    kind = generator.choice(list(KINDS), rows, p=weights / weights.sum())
    minutes = np.minimum(generator.gamma(3, 3.2, rows), 58)
    town = generator.choice(4, PEOPLE, p=[0.45, 0.2, 0.25, 0.1])[caller]
    place = TOWNS[town] + generator.normal(0, [0.035, 0.025], (rows, 2))

    with (Path(__file__).parent / "calls.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["caller", "called", "kind", "arrived_after", "lng", "lat"])
        for row in range(rows):
            took = f"0:{int(minutes[row]):02}:{int(minutes[row] * 60) % 60:02}"
            lng, lat = place[row]
            writer.writerow([f"C{caller[row]:04}", when[row], kind[row], took, f"{lng:.4f}", f"{lat:.4f}"])


if __name__ == "__main__":
    main()
