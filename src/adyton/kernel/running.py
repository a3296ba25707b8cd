"""A mechanism at work on the data that a kernel keeps: its answer is published, or only that it failed."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from adyton.errors import KernelFailure
from adyton.interrupts import noticed
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.shapes import Facts
from adyton.noise import KeyedNoise
from adyton.noise.source import NoiseSource

_NUMBERS = re.compile(r"\d+(?:, \d+)*(?: and \d+ more)?")


class Kept(NamedTuple):
    """What a kernel keeps behind a handle: the public facts, and the data."""

    facts: Facts
    data: Any


def run(
    operator: Mechanism,
    kept: Kept,
    epsilon: Fraction,
    noise: NoiseSource,
    trials: int | None,
    take: Callable[[Any], None],
) -> type[BaseException] | None:
    """Give *take* what is published of one output; the kind of failure or interrupt, if there was one. No exception
    from here may travel on: it could carry data with it.

    Many outputs for one debit are there in simulations only: noise that is private is drawn once.
    """
    came: list[type[BaseException]] = []
    try:
        with noticed(came) if noise.private else nullcontext(), np.errstate(all="ignore"):
            noise = _placed(noise, operator, kept.facts)
            outputs = operator.draw(kept.data, epsilon, noise, 1 if trials is None or noise.private else trials)
            output = outputs[0] if trials is None or noise.private else outputs
            take(operator.publish(output, kept.facts.shape, epsilon, noise.private))
    except (KeyboardInterrupt, SystemExit) as interruption:
        return type(interruption)
    except BaseException:
        return came[0] if came else KernelFailure  # an engine may make an error of its own of an interrupt
    return came[0] if came else None


def _placed(noise: NoiseSource, operator: Mechanism, facts: Facts) -> NoiseSource:
    """Noise that is keyed by places, at this one: the way to the source, and the operator's words without numbers,
    which count things that may lie elsewhere."""
    if not isinstance(noise, KeyedNoise):
        return noise
    return noise.at("\n".join((*facts.lineage, _NUMBERS.sub("", str(operator)))), operator.parts(facts.shape))
