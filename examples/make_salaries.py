"""Write salaries.csv: the payroll of a city that does not exist. The same file every time.

    python examples/make_salaries.py

One row is one employee. It is written as offices write: dollars with signs and commas, American dates, blanks.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

ROWS = 2_500
DEPARTMENTS = ("Police", "Fire", "Schools", "Health", "Parks", "Library", "Law")
SHARES = (0.27, 0.16, 0.24, 0.12, 0.09, 0.05, 0.07)
PAY = (74, 71, 58, 63, 46, 49, 92)


def main() -> None:
    """Draw the employees and write them beside this script."""
    generator = np.random.default_rng(20_240_502)
    department = generator.choice(DEPARTMENTS, ROWS, p=SHARES)
    sex = np.where(generator.random(ROWS) < np.where(np.isin(department, ["Police", "Fire"]), 0.24, 0.6), "F", "M")
    age = np.clip(generator.normal(43, 11, ROWS), 19, 71).astype(int)
    years = np.minimum(generator.exponential(9, ROWS), age - 18).astype(int)
    middle = np.array([PAY[DEPARTMENTS.index(name)] for name in department]) * 1000.0
    salary = middle * np.exp(generator.normal(0, 0.22, ROWS)) * (1 + 0.012 * years)
    day = np.datetime64("2024-05-01") - (years * 365 + generator.integers(0, 365, ROWS)).astype("timedelta64[D]")

    paid = [f"${value:,.2f}" for value in salary]
    for row in generator.choice(ROWS, 25, replace=False):
        paid[row] = str(generator.choice(["", "n/a", "on leave"]))
    hired = [f"{when.month:02}/{when.day:02}/{when.year}" for when in day.astype(object)]
    with (Path(__file__).parent / "salaries.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["Department", "Sex", "Age", "Hired", "Annual salary"])
        writer.writerows(zip(department, sex, age, hired, paid, strict=True))


if __name__ == "__main__":
    main()
