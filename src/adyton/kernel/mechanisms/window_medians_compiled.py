"""The windows of :mod:`adyton.kernel.mechanisms.window_medians`, compiled for 64-bit integers."""

from __future__ import annotations

from adyton.compiling import compiled
from adyton.kernel.mechanisms import window_medians

median_windows = compiled(window_medians.median_windows)
