"""What the Pythia paper says in words about its own results; its figures are pictures without numbers.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, Section 8 and Appendix C, at ε = 1.
"""

from __future__ import annotations

PYTHIA = {"1-D prefix": 1.27, "2-D short": 2.27}
"""The mean regret of Pythia where it is least and where it is greatest (Section 8.2)."""

ALGORITHMS = {
    "1-D": ("identity", "hb", "privelet", "uniform", "dawa", "mwem", "ahp"),
    "2-D": ("identity", "hb", "privelet", "uniform", "dawa", "mwem", "ahp", "adaptive-grid", "dpcube"),
}
"""Table 1. The paper's Laplace is ``identity`` here, its AGRID is ``adaptive-grid``."""

ABOVE_TEN = {"1-D": ("ahp", "mwem", "privelet", "uniform"), "2-D": ("dawa", "mwem", "uniform", "dpcube")}
"""Left out of Fig. 4 because their mean regret is above 10."""

SAVED_BY_GROUP_REGRET = {"1-D": 0.30, "2-D": 0.14}
"""How much lower the mean regret is than with trees split by the best algorithm (Fig. 7, Section 8.4)."""

LOWEST_ON = {"1-D identity": (5, 7), "1-D prefix": (5, 7)}
"""On how many of the data sets Pythia has the lowest mean regret (Fig. 9); on the others it is the second."""


def regret(group: str, method: str) -> str:
    """What the paper says about a mean regret, or nothing.

    >>> regret("2-D short", "tree: group-regret"), regret("1-D all", "ahp"), regret("1-D all", "dawa")
    ('2.27', '> 10', '≤ 10')
    """
    dimension = group.split(maxsplit=1)[0]
    if method == "tree: group-regret":
        return f"{PYTHIA[group]}" if group in PYTHIA else "1.27–2.27"
    if not group.endswith("all") or method not in ALGORITHMS.get(dimension, ()):
        return ""
    return "> 10" if method in ABOVE_TEN[dimension] else "≤ 10"
