"""Every table of two attributes, out of three, in one release; and sums of it, free of charge.

python examples/marginals.py
"""

from pathlib import Path

import adyton as ad

HERE = Path(__file__).parent


def main() -> None:
    """Release 2-way marginals of sex, department and stay, and look at one of them."""
    with ad.Session(HERE / "visits.csv", schema=HERE / "visits.toml", epsilon=1, unit="patient") as session:
        release = session.release(ad.Marginals(way=2, attrs=["sex", "department", "stay_days"]), epsilon=1)
        print(release.explain())

        cells = release.to_frame(["department", "sex"])  # without names: the lines of tables.csv
        table = cells.pivot(index="department", columns="sex", values="count")
        print(f"\n{table.round().astype(int)}\n")

        weeks = [{"department": name, "stay_days": (7, None)} for name in release.axes["department"]]
        bounds = release.interval(weeks)
        for name, low, high in zip(release.axes["department"], bounds.lower, bounds.upper, strict=True):
            print(f"{name}: between {low:.0f} and {high:.0f} stays of a week or longer")


if __name__ == "__main__":
    main()
