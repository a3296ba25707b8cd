"""What to use instead of an option that does not exist."""

from __future__ import annotations

from collections.abc import Mapping

_MEAN = "release --histogram A --out FOLDER: the {word} is value × count, added up over the lines of estimate.csv{rest}"
_WAYS: Mapping[tuple[str, ...], str] = {
    ("mean", "average", "avg"): _MEAN.format(word="mean", rest=" and divided by the sum of the counts"),
    ("sum",): _MEAN.format(word="sum", rest=""),
    ("median", "quantile", "quantiles", "percentile", "percentiles", "quartiles"): (
        "release --cdf A: the median is the first value whose count reaches half of the last one, and other quantiles "
        "likewise"
    ),
    ("min", "max", "minimum", "maximum"): (
        "a smallest or largest value would be one person's own; release --cdf A and read where the counts begin and end"
    ),
    ("variance", "std", "deviation", "stdev"): (
        "release --histogram A: mean and variance follow from the values and counts of estimate.csv"
    ),
    ("by", "group-by", "groupby", "group"): "name several attributes together, as in --histogram department,sex",
    ("filter", "query"): '--where "age >= 65" keeps some of the rows',
    ("eps", "budget", "privacy"): "the budget is --epsilon 0.5",
    ("output", "folder", "directory"): "--out FOLDER writes a report, a CSV and a JSON file",
    ("csv", "format"): "--out FOLDER writes estimate.csv, and --json prints everything",
    ("bins", "levels", "columns"): "bins and levels are declared in the schema file",
    ("seed", "random-state"): "noise that could be repeated would protect nobody, so that there is no seed",
    ("delta",): "all releases are private with ε alone, so that there is no δ",
    ("force", "confirm"): "--yes accepts a large budget",
}


def instead_of(option: str) -> str | None:
    """The way that there is, in words.

    >>> instead_of("--eps")
    'the budget is --epsilon 0.5'
    """
    asked = option.lstrip("-").lower().replace("_", "-")
    return next((way for names, way in _WAYS.items() if asked in names), None)
