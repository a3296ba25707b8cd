"""Adyton: differentially private data release.

A public name is imported from its module when first used, so that importing the package stays fast:
``__init__.pyi`` lists the modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_of_the_product, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)
_OF_THE_LABORATORY = {"Delphi": "adyton_lab.training.delphi", "learn_choices": "adyton_lab.training.choices"}
"""The public names for training on public data."""
__all__ += ["Delphi", "learn_choices"]
_PROTECTED = "One value belongs to one person, so neither the largest nor the smallest is released. Ask for a quantile"
_DEPENDENCE = "It is not released as one number. Tables show how attributes depend on each other"
_INSTEAD = {
    ("median", "quantile", "quartiles", "deciles", "percentile"): 'Use ad.Quantiles("cost", "median")',
    ("max", "maximum", "min", "minimum", "range"): f'{_PROTECTED}, ad.Quantiles("cost", 0.99)',
    ("average", "avg", "means"): 'Use ad.Mean("cost", by="department")',
    (
        "std",
        "stddev",
        "standarddeviation",
        "deviation",
        "var",
    ): 'Use ad.Variance("cost"), with the deviation',
    ("describe", "statistics"): 'Use ad.Summary("cost")',
    ("total",): 'Use ad.Sum("cost")',
    ("correlation", "corr", "covariance", "cov", "regression", "linearregression"): (
        f'{_DEPENDENCE}: ad.Histogram("age", "sex"), or ad.Marginals(way=2) for all pairs'
    ),
    ("unique", "nunique", "distinct", "countdistinct"): (
        "Levels are declared in the schema, never counted. ad.Units() counts the people"
    ),
    ("mode", "top", "largest"): 'Release ad.Histogram("department"), then ask release.top(1)',
    ("groupby", "by"): 'Use ad.Histogram("department"), or by="department" in ad.Mean, ad.Sum and ad.Quantiles',
    ("crosstab", "crosstable", "pivot", "pivottable", "table", "contingency"): 'Use ad.Histogram("age", "sex")',
    ("counts", "valuecounts", "frequency", "bar", "group"): 'Use ad.Histogram("department")',
    ("share", "proportion", "percentage", "ratio", "difference", "rate"): (
        "It follows from a release, at no cost: release.share(…), .ratio(…), .difference(…), .rate(…)"
    ),
    (
        "filter",
        "where",
        "query",
    ): "A filter is a text, where=\"age >= 18 and sex = 'F'\", of session.release",
    ("cumulative", "ecdf", "distribution"): 'Use ad.Cdf("cost")',
    ("synthetic", "syntheticdata", "sample"): "Release ad.Marginals(way=2), then take release.sample(1000)",
    ("tree", "decisiontree", "naivebayes", "randomforest", "logisticregression"): (
        'Use session.fit(ad.Classifier("department"), epsilon=1)'
    ),
    ("readcsv", "readparquet", "dataframe", "dataset", "open", "data"): (
        'Open a table with ad.Session("visits.csv", schema="visits.toml", epsilon=1)'
    ),
    ("budget", "epsilon", "privacybudget"): "A budget is a number or a text: epsilon=1, epsilon='0.1'",
}
"""What to use in place of names that people try, in lower case and without underscores."""


def __getattr__(name: str) -> Any:
    if name in _OF_THE_LABORATORY:
        return getattr(import_module(_OF_THE_LABORATORY[name]), name)
    try:
        return _of_the_product(name)
    except AttributeError:
        from difflib import get_close_matches  # only for a name that is not there: loading it takes a while

        tried = name.lower().replace("_", "")
        way = next((way for names, way in _INSTEAD.items() if tried in names or tried.removesuffix("s") in names), "")
        alike = get_close_matches(name, __all__, 1)
        way = way or (f"Did you mean ad.{alike[0]}" if alike else "dir(ad) lists all names")
        raise AttributeError(f"adyton has no {name}. {way}{'?' if way.startswith('Did') else '.'}") from None


def __dir__() -> list[str]:
    return [*_names(), *_OF_THE_LABORATORY]
