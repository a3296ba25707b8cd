"""The deviations of :mod:`adyton.kernel.mechanisms.bisections`, compiled for 64-bit integers."""

from __future__ import annotations

from adyton.compiling import compiled
from adyton.kernel.mechanisms import bisections

running_deviations = compiled(bisections.running_deviations)
