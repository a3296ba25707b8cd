"""What a selector by similar inputs learns: one row for each public input and workload."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.plans.registry import plan_named
from adyton.selection.selector import Training
from adyton.selection.similar_inputs import COLUMNS, PLAIN, SimilarInputs
from adyton.selection.workload_kinds import reach, workload_named
from adyton_lab.measured import Measured


def similar_inputs(training: Training, share: Fraction, measured: Measured) -> SimilarInputs:
    """The selector that knows these measured errors."""
    parts = [_columns(measured, name) for name in measured.errors]
    columns = dict(zip(COLUMNS, map(np.concatenate, zip(*parts, strict=True)), strict=True))
    return SimilarInputs.from_learnt(training, share, columns)


def _columns(measured: Measured, name: str) -> tuple[Reals, ...]:
    """Those of one workload, as :data:`COLUMNS` lists them."""
    plain, inputs, means = plan_named(PLAIN), measured.inputs, measured.mean_errors(name)
    asked = [workload_named(name, one.domain) for one in inputs]
    reaches = np.array([reach(workload) for workload in asked])
    if PLAIN in measured.algorithms and reaches.max() == 0:
        unit = means[:, measured.algorithms.index(PLAIN)]  # of the same noise: its chance cancels out
    else:
        errors = (plain.expected_error(workload, one.epsilon) for workload, one in zip(asked, inputs, strict=True))
        unit = np.array([float(error) for error in errors])
    return (
        np.log2([workload.cells for workload in asked]),
        reaches,
        np.log2([float(one.epsilon) for one in inputs]),
        np.array([float(one.epsilon * one.scale) for one in inputs]),
        np.array([measured.sources.index(one.shape.source) for one in inputs], dtype=np.float64),
        np.log(measured.best_errors(name)) - np.log(unit),
        np.log(means) - np.log(unit)[:, None],
    )
