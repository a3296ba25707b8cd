"""The results of a comparison, and its files.

For each data set, budget and workload: the error of every algorithm, and the selector's choice. The page is one HTML
file that contains all figures and plots: it needs no other file and no network.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton import __version__
from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.messages import harmless
from adyton_lab.compare.data_sets import DataSet
from adyton_lab.corpus.public_files import regrid
from adyton_lab.pages import rendered

LINE_POINTS, PLANE_POINTS = 512, 64
"""The most points of a plot: in one dimension, and along each axis in two dimensions."""
_DIGITS = {1: 4, 2: 3}
_FINEST = 1e-5
"""Differences below this fraction of the highest point are invisible."""


def shown(counts: npt.ArrayLike) -> Reals:
    """Counts on a coarser grid if there are more cells than points: neighbouring cells are added up.

    >>> shown(np.ones(1024)).shape, shown(np.ones(1000)).shape, shown(np.ones((100, 8))).shape
    ((512,), (500,), (50, 8))
    """
    values = np.asarray(counts, dtype=np.float64)
    most = LINE_POINTS if values.ndim == 1 else PLANE_POINTS
    together = [-(-side // most) for side in values.shape]
    return regrid(values, tuple(-(-side // joined) for side, joined in zip(values.shape, together, strict=True)))


def rounded(values: Reals, original: Reals) -> list[int | float]:
    """The values as a flat list, rounded to the digits that are visible next to the original.

    >>> rounded(np.array([1234.56789, -0.00001, 2.0]), np.array([2000.0, 0.0, 0.0]))
    [1235, 0, 2]
    """
    finest = max(float(np.abs(original).max(initial=0.0)) * _FINEST, 1e-9)
    places = max(0, -math.floor(math.log10(finest)))
    digits = _DIGITS[original.ndim]
    short = [float(f"{value:.{digits}g}") for value in np.round(values.reshape(-1), places).tolist()]
    return [int(value) if value.is_integer() else value for value in short]


LOOKS = 20
"""How many times the selector is run on the data."""
CHOOSER = "pythia"
"""The algorithm that chooses and runs one of the others; its regret is relative to the best of the others."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one algorithm did."""

    algorithm: str
    error: float | None = None
    """The root mean square error of an answer, ‖W·x̂ − W·x‖₂/√queries, averaged over the trials; None if it failed."""
    standard_error: float | None = None
    """The standard error of that average; None for a single trial."""
    seconds: float = 0.0
    """All trials together, including any preparation."""
    failure: str | None = None
    """Why the algorithm failed, if it did."""


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What the selector chose in several simulated runs on the data."""

    choices: Mapping[str, int]
    """How often each algorithm was chosen, the most frequent one first."""
    failure: str | None = None

    @property
    def algorithm(self) -> str | None:
        """The algorithm that was chosen most often."""
        return next(iter(self.choices), None)


@dataclass(frozen=True, eq=False)
class Case:
    """One data set, one budget, one workload: all algorithms, the least error first, those that failed last."""

    dataset: str
    epsilon: Fraction
    workload: str
    outcomes: tuple[Outcome, ...]
    recommendation: Recommendation

    @property
    def best(self) -> Outcome | None:
        """The algorithm with the least error, except for the one that only chooses among the others."""
        measured = [outcome for outcome in self.outcomes if outcome.error is not None]
        return next(
            (outcome for outcome in measured if outcome.algorithm != CHOOSER), measured[0] if measured else None
        )

    def regret(self, algorithm: str | None) -> float | None:
        """The algorithm's error divided by the least error; infinite if the least is 0, None if it was not measured."""
        best = self.best
        error = next((outcome.error for outcome in self.outcomes if outcome.algorithm == algorithm), None)
        if error is None or best is None or best.error is None:
            return None
        if best.error == 0:
            return 1.0 if error == 0 else math.inf
        return error / best.error

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        best, advice = self.best, self.recommendation
        return {
            "dataset": self.dataset,
            "epsilon": display(self.epsilon),
            "workload": self.workload,
            "best": None if best is None else best.algorithm,
            "outcomes": [
                {
                    "algorithm": outcome.algorithm,
                    "error": _short(outcome.error),
                    "standard_error": _short(outcome.standard_error),
                    "regret": _short(self.regret(outcome.algorithm)),
                    "seconds": round(outcome.seconds, 3),
                    "failure": outcome.failure,
                }
                for outcome in self.outcomes
            ],
            "recommendation": {
                "algorithm": advice.algorithm,
                "regret": _short(self.regret(advice.algorithm)),
                "choices": dict(advice.choices),
                "failure": advice.failure,
            },
        }


def ranked(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Outcomes by error, the least first; equal errors by name, failures last."""
    return tuple(
        sorted(outcomes, key=lambda outcome: (math.inf if outcome.error is None else outcome.error, outcome.algorithm))
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """All results."""

    datasets: Sequence[DataSet]
    cases: Sequence[Case]
    estimates: Mapping[tuple[str, str, str, str | None], Reals]
    """One estimate, at the resolution of the plots, by data set, budget, algorithm and workload; the workload is None
    if the algorithm does not depend on it."""
    trials: int
    seed: int

    def to_plain(self, *, histograms: bool = True) -> dict[str, Any]:
        """For JSON; with *histograms*, including the data and one estimate by every algorithm in every case."""
        drawn = {data.name: shown(data.counts) for data in self.datasets}
        plain = {
            "adyton": __version__,
            "protected": False,
            "trials": self.trials,
            "seed": self.seed,
            "datasets": [
                {
                    "name": data.name,
                    "domain": list(data.counts.shape),
                    "rows": data.rows,
                    "drawn": data.drawn,
                    **({"shape": list(drawn[data.name].shape)} if histograms else {}),
                    **({"shown": rounded(drawn[data.name], drawn[data.name])} if histograms else {}),
                }
                for data in self.datasets
            ],
            "cases": [case.to_plain() for case in self.cases],
        }
        if histograms:
            plain["estimates"] = [
                {
                    "dataset": name,
                    "epsilon": epsilon,
                    "algorithm": algorithm,
                    "workload": workload,
                    "shown": rounded(estimate, drawn[name]),
                }
                for (name, epsilon, algorithm, workload), estimate in self.estimates.items()
            ]
        return plain

    def rows(self) -> list[dict[str, object]]:
        """One row for each algorithm in each case, for the CSV file."""
        datasets = {data.name: data for data in self.datasets}
        return [
            {
                "dataset": case.dataset,
                "domain": "x".join(map(str, datasets[case.dataset].counts.shape)),
                "rows": datasets[case.dataset].rows,
                "epsilon": float(case.epsilon),
                "workload": case.workload,
                "algorithm": outcome.algorithm,
                "error": outcome.error,
                "standard_error": outcome.standard_error,
                "regret": case.regret(outcome.algorithm),
                "seconds": round(outcome.seconds, 4),
                "chosen": case.recommendation.choices.get(outcome.algorithm, 0),
                "failure": outcome.failure,
            }
            for case in self.cases
            for outcome in case.outcomes
        ]


def _short(value: float | None) -> float | None:
    """Rounded to five digits, more than any simulation is accurate to; None for infinite values, which JSON lacks."""
    return float(f"{value:.5g}") if value is not None and np.isfinite(value) else None


# ---- files ----------------------------------------------------------------------------------------------------------

WORDS = {
    "identity": "every cell",
    "prefix": "every prefix (cumulative counts)",
    "short": "1,000 short random ranges",
    "medium": "1,000 medium random ranges",
    "long": "1,000 long random ranges",
    "mixed": "1,000 random ranges of all lengths",
}
"""The workloads in plain words."""


def render(comparison: Comparison) -> str:
    """The page as text."""
    from markupsafe import Markup

    plain = comparison.to_plain() | {"words": WORDS, "looks": LOOKS, "chooser": CHOOSER}
    return rendered(
        Path(__file__).with_name("page.html.j2"),
        comparison=comparison,
        chooser=CHOOSER,
        version=plain["adyton"],
        data=Markup(embedded(plain)),  # nosec B704 # embedded lets no text end its element
    )


def embedded(plain: object) -> str:
    """JSON that is safe inside a script element: no text in it can end the element.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


PAGE, ERRORS, EVERYTHING = "compare.html", "errors.csv", "compare.json"


def check(folder: Path) -> None:
    """Refuse a folder in which subfolders have the names of the files to write."""
    for name in (PAGE, ERRORS, EVERYTHING):
        if (folder / name).is_dir():
            raise BadInput(f"{folder / name} is a folder, but a file must be written there. Give --out another folder.")


def write(comparison: Comparison, folder: Path) -> None:
    """Write all files, replacing older ones; each is written completely or not at all."""
    texts = {
        PAGE: render(comparison),
        ERRORS: _table(comparison),
        EVERYTHING: json.dumps(comparison.to_plain(), ensure_ascii=False, allow_nan=False) + "\n",
    }
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".compare-") as draft:
            for name, text in texts.items():
                (Path(draft) / name).write_text(text, encoding="utf-8", newline="")
            for name in texts:
                os.replace(Path(draft) / name, folder / name)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written to: {error.strerror or error}.") from None


def _table(comparison: Comparison) -> str:
    rows = comparison.rows()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: harmless(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    )
    return text.getvalue()
