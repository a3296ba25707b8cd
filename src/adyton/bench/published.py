"""What published implementations reach: dpcomp_core and εKTELO, the better of the two, on the DPBench histograms.

Times are in units of one sort of ten million doubles on the machine that they were measured on. Errors are
‖W·x̂ − W·x‖₂, geometric means over the data sets at scales 10³, 10⁵ and 10⁷. Their DAWA is not private as coded.
"""

from __future__ import annotations

SCALES = (10**3, 10**5, 10**7)

TIMES: dict[tuple[int, int], dict[str, float]] = {
    (1, 4096): {
        "dawa": 0.4956,
        "greedy-h": 16.38,
        "h2": 0.0539,
        "hb": 0.03682,
        "identity": 0.001,
        "privelet": 0.00169,
        "uniform": 0.00083,
    },
    (2, 32): {
        "dawa": 0.1627,
        "hb": 0.01259,
        "identity": 0.00079,
        "privelet": 0.01926,
        "quadtree": 0.01855,
        "uniform": 0.00079,
    },
    (2, 128): {
        "dawa": 1.411,
        "hb": 0.1247,
        "identity": 0.00181,
        "privelet": 0.08562,
        "quadtree": 0.06973,
        "uniform": 0.00096,
    },
}
"""Dimensions and side, then algorithm."""

ERRORS: dict[tuple[int, int, str, str], dict[str, tuple[float, float, float]]] = {
    (1, 4096, "1", "identity"): {
        "dawa": (27.98, 112, 124.2),
        "greedy-h": (112.5, 112.5, 112.5),
        "h2": (910.6, 910.6, 910.6),
        "hb": (264.1, 264.1, 264.1),
        "identity": (90.61, 90.61, 90.61),
        "privelet": (684.3, 684.3, 684.3),
        "uniform": (134.3, 9707, 9.59e5),
    },
    (1, 4096, "1", "prefix"): {
        "dawa": (702.5, 1520, 1945),
        "greedy-h": (884.2, 884.2, 884.2),
        "h2": (1211, 1211, 1211),
        "hb": (892.1, 892.1, 892.1),
        "identity": (3177, 3177, 3177),
        "privelet": (1236, 1236, 1236),
        "uniform": (2.073e4, 2.104e6, 2.102e8),
    },
    (1, 4096, "0.1", "identity"): {
        "dawa": (89.12, 559.8, 1144),
        "greedy-h": (1127, 1125, 1148),
        "h2": (9106, 9106, 9106),
        "hb": (2642, 2642, 2642),
        "identity": (906.1, 906.1, 906.1),
        "privelet": (6843, 6843, 6843),
        "uniform": (134.3, 9707, 9.59e5),
    },
    (1, 4096, "0.1", "prefix"): {
        "dawa": (5342, 1.288e4, 1.71e4),
        "greedy-h": (8843, 8843, 8843),
        "h2": (1.211e4, 1.211e4, 1.211e4),
        "hb": (8921, 8921, 8921),
        "identity": (3.177e4, 3.177e4, 3.177e4),
        "privelet": (1.236e4, 1.236e4, 1.236e4),
        "uniform": (2.082e4, 2.104e6, 2.102e8),
    },
    (2, 32, "1", "identity"): {
        "best": (19.88, 35.68, 36.66),
        "hb": (43.91, 43.91, 43.91),
        "identity": (43.91, 43.91, 43.91),
        "privelet": (538.2, 538.2, 538.2),
        "quadtree": (144, 144, 144),
        "uniform": (313.1, 3.035e4, 3.036e6),
    },
    (2, 32, "1", "boxes"): {
        "best": (385.7, 780.4, 532),
        "hb": (780.4, 780.4, 780.4),
        "identity": (780.4, 780.4, 780.4),
        "privelet": (2075, 2075, 2075),
        "quadtree": (1229, 1229, 1229),
        "uniform": (1.409e4, 1.404e6, 1.403e8),
    },
    (2, 128, "1", "identity"): {
        "best": (34.61, 105, 180.9),
        "hb": (355.3, 355.3, 355.3),
        "identity": (181.5, 181.5, 181.5),
        "privelet": (3877, 3877, 3877),
        "quadtree": (666.1, 666.1, 666.1),
        "uniform": (153.5, 1.409e4, 1.409e6),
    },
    (2, 128, "1", "boxes"): {
        "best": (818.4, 1371, 2157),
        "hb": (2157, 2157, 2157),
        "identity": (3878, 3878, 3878),
        "privelet": (5163, 5163, 5163),
        "quadtree": (2847, 2847, 2847),
        "uniform": (1.391e4, 1.391e6, 1.391e8),
    },
}
"""Dimensions, side, ε and workload, then algorithm and scale; "best" is the best of all published algorithms."""
