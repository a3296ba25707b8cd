"""Learn to tell the department from what is known at the door, and ask the model about new visits.

    python examples/classify_visits.py

Learning is paid for; asking is free.
"""

from __future__ import annotations

from pathlib import Path

import adyton as ad

HERE = Path(__file__).parent


def main() -> None:
    """Fit, explain, predict."""
    session = ad.Session(HERE / "visits.csv", schema=HERE / "visits.toml", epsilon=1)
    attributes = ["age", "sex", "stay_days"]
    fitted = session.fit(ad.Classifier("department", attributes, method="naive-bayes"), epsilon=1)
    print(fitted.explain())
    visits = {"age": [29, 71, 54], "sex": ["F", "M", "F"], "stay_days": [4, 0, 9]}
    for number, (department, odds) in enumerate(zip(fitted.predict(visits), fitted.predict_proba(visits), strict=True)):
        print(f"Visit {number + 1}: {department}, by {max(odds):.0%}")


if __name__ == "__main__":
    main()
