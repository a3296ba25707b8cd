"""Write visits.csv: synthetic visits to a hospital that does not exist. The same file every time.

    python examples/make_visits.py

Some values are missing and some lie outside what visits.toml declares, as in any real table.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

ROWS = 5_000
DEPARTMENTS = {"emergency": 0.34, "surgery": 0.18, "maternity": 0.12, "cardiology": 0.16, "oncology": 0.12, "eye": 0.08}


def main() -> None:
    """Draw the visits and write them beside this script."""
    generator = np.random.default_rng(20_240_501)
    department = generator.choice(list(DEPARTMENTS), ROWS, p=list(DEPARTMENTS.values()))
    age = np.clip(
        np.where(generator.random(ROWS) < 0.3, generator.normal(30, 9, ROWS), generator.normal(66, 15, ROWS)), 0, 105
    )
    age = np.where(department == "maternity", np.clip(generator.normal(30, 6, ROWS), 15, 50), age).astype(int)
    sex = np.where(department == "maternity", "F", generator.choice(["F", "M"], ROWS))
    stay = np.minimum(generator.geometric(np.where(department == "emergency", 0.5, 0.18)) - 1, 90)
    cost = np.round(generator.lognormal(6.2, 0.6, ROWS) + 610.0 * stay, 2)

    age_text = [str(value) for value in age]
    cost_text = [f"{value:.2f}" for value in cost]
    sex_text = list(sex)
    for row in generator.choice(ROWS, 60, replace=False):
        age_text[row] = str(generator.choice(["", "999", "-1", "unknown"]))
    for row in generator.choice(ROWS, 90, replace=False):
        sex_text[row] = str(generator.choice(["", "X"]))
    for row in generator.choice(ROWS, 40, replace=False):
        cost_text[row] = ""

    with (Path(__file__).parent / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["age", "sex", "department", "stay_days", "cost"])
        writer.writerows(zip(age_text, sex_text, department, stay, cost_text, strict=True))


if __name__ == "__main__":
    main()
