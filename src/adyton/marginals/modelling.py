"""From what was measured to all tables, in one step: the same measurements always give the same tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adyton.marginals.estimating import Estimated, estimated
from adyton.marginals.pair_model import PairModel
from adyton.marginals.refining import refined
from adyton.marginals.wanted import Wanted
from adyton.queries.measurement import MeasuredTable
from adyton.solving.residuals import residuals


def modelled(wanted: Wanted, measured: Iterable[MeasuredTable], kept: PairModel | None = None) -> Estimated:
    """Least squares, the denoised pairs, and all pairs fitted together, or a model that was *kept*. It costs no
    privacy."""
    if kept is not None:
        return Estimated(residuals(wanted.sides, measured), kept)
    found = estimated(wanted.sides, measured, ordered=wanted.ordered)
    return replace(found, model=refined(found.model))
