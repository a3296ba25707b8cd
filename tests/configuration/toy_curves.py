"""Made-up curves for tests: random steps, random smooth ones, and what is no curve."""

import numpy as np

from adyton.kernel.instances.lattice import POINTS, SmoothCurve, StepCurve


def random_steps(generator, pieces=12, low=80.0, high=100.0):
    starts = np.unique(np.append(0, generator.integers(1, POINTS, pieces)))
    return StepCurve(starts, generator.uniform(low, high, starts.size))


def random_smooth(generator, pieces=8, spread=10.0):
    starts = np.unique(np.append(0, generator.integers(1, POINTS, pieces)))
    coefficients = generator.normal(0, spread, (starts.size, 3))
    coefficients[:, 0] += 100
    return SmoothCurve(starts, coefficients)


def _array(*values, kind=np.int64):
    return np.array(values, dtype=kind)


MALFORMED = {
    "nothing": None,
    "a number": 3.0,
    "lists": StepCurve([0, 1], [1.0, 2.0]),
    "no pieces": StepCurve(_array(), _array(kind=float)),
    "late start": StepCurve(_array(1, 2), _array(1, 2, kind=float)),
    "falling starts": StepCurve(_array(0, 5, 4), _array(1, 2, 3, kind=float)),
    "equal starts": StepCurve(_array(0, 5, 5), _array(1, 2, 3, kind=float)),
    "outside": StepCurve(_array(0, POINTS), _array(1, 2, kind=float)),
    "negative": StepCurve(_array(0, -5), _array(1, 2, kind=float)),
    "huge starts": StepCurve(np.array([0, 2**63 + 5], dtype=np.uint64), _array(1, 2, kind=float)),
    "real starts": StepCurve(_array(0, 1, kind=float), _array(1, 2, kind=float)),
    "too few values": StepCurve(_array(0, 5), _array(1, kind=float)),
    "nan": StepCurve(_array(0, 5), _array(1, np.nan, kind=float)),
    "inf": StepCurve(_array(0, 5), _array(1, np.inf, kind=float)),
    "complex": StepCurve(_array(0, 5), _array(1, 2j, kind=complex)),
    "objects": StepCurve(_array(0, 5), np.array([1, "x"], dtype=object)),
    "two columns": SmoothCurve(_array(0, 5), np.ones((2, 2))),
    "smooth nan": SmoothCurve(_array(0), np.array([[1, 1, np.nan]])),
    "smooth and absurd": SmoothCurve(_array(0), np.array([[1.0, 1e308, 1e308]])),
}
