"""From a table to a release that can be published: look, choose ε, release, ask, save.

    python examples/release_visits.py [FOLDER]

The report and the ledger are written into FOLDER, visits-out if it is not given.
"""

import sys
from pathlib import Path

import adyton as ad

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Spend a budget of 1 on the example table, in two releases."""
    folder.mkdir(parents=True)
    ages, departments = ad.Ranges("age"), ad.Histogram("department", "sex")
    with ad.Session(
        HERE / "visits.csv", schema=HERE / "visits.toml", epsilon=1, ledger=folder / "visits.ledger", unit="patient"
    ) as session:
        print(session.preview(ages, epsilon="0.5"))  # nothing is spent by looking
        enough = session.epsilon_for(departments, error=5)
        print(f"\nε = {float(enough):.4g} is enough for an error of 5 patients by department and sex.\n")

        release = session.release(ages, epsilon="0.5")
        print(release.explain())

        asked = {"in their twenties": (20, 29), "65 or older": (65, None)}
        bounds = release.interval(list(asked.values()))
        print()
        for words, count, low, high in zip(asked, bounds.estimate, bounds.lower, bounds.upper, strict=True):
            print(f"{words}: about {count:.0f} patients, between {low:.0f} and {high:.0f}")
        print(bounds)  # what these bounds mean

        by_department = session.release(departments, epsilon=enough)
        print(f"\n{by_department.to_frame(integer=True, nonnegative=True).to_string(index=False)}\n")

        release.save(folder / "ages")
        print(f"Saved in {folder}. {session!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "visits-out"))
