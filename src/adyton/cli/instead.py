"""What to use instead of an option that does not exist, or of words that belong to none."""

from __future__ import annotations

from collections.abc import Mapping

_WAYS: Mapping[tuple[str, ...], str] = {
    ("average", "avg"): "--mean A has the mean of an attribute, and --by B those of groups",
    ("median", "quantile", "percentile", "percentiles", "quartiles", "deciles"): (
        "--quantiles A --at median has the median; --at quartiles, deciles or 0.1,0.9 has others"
    ),
    ("min", "max", "minimum", "maximum"): (
        "a smallest or largest value would be one person's own; release --cdf A and read where the counts begin and end"
    ),
    ("std", "deviation", "stdev"): "--variance A has the standard deviation, too",
    ("group-by", "groupby", "group"): (
        "name several attributes together, as in --histogram department,sex; for numbers, --mean A --by department,sex"
    ),
    ("filter", "query"): '--where "age >= 65" keeps some of the rows',
    ("eps", "budget", "privacy"): "the budget is --epsilon 0.5",
    ("output", "folder", "directory"): "--out FOLDER writes a report, a CSV and a JSON file",
    ("csv", "format"): "--out FOLDER writes estimate.csv, and --json prints everything",
    ("bins", "levels", "columns"): "bins and levels are declared in the schema file",
    ("seed", "random-state"): "noise that could be repeated would protect nobody, so that there is no seed",
    ("delta",): "all releases are private with ε alone, so that there is no δ",
    ("force", "confirm"): "--yes accepts a large budget",
}
COMMAS = "attributes of one option are separated by commas, without spaces, as in --histogram age,sex"


def instead_of(option: str) -> str | None:
    """The way that there is, in words; of an option, or of what the command line says about an argument too many.

    >>> instead_of("--eps")
    'the budget is --epsilon 0.5'
    """
    if "unexpected extra argument" in option:
        return COMMAS
    asked = option.lstrip("-").lower().replace("_", "-")
    return next((way for names, way in _WAYS.items() if asked in names), None)
