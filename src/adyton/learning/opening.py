"""A kernel for one fit: opened on a table or on rows in memory, and its ledger let go afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.file import file_name
from adyton.kernel.sources import TableSource
from adyton.noise.source import NoiseSource
from adyton.schema import Schema


@contextmanager
def opened(
    data: Any,
    schema: Schema,
    epsilon: Rational,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    unit: str | None,
    noise: NoiseSource | None,
) -> Iterator[Kernel[TableSource]]:
    """A kernel with the total of its ledger, or with *epsilon* where there is none yet."""
    total = budget(epsilon, "epsilon")
    if isinstance(ledger, Ledger):
        total = ledger.total
    elif ledger is not None and os.path.exists(file_name(ledger)):
        total = Ledger.read(ledger).total
    kernel = Kernel(data, schema=schema, epsilon=total, ledger=ledger, dataset=dataset, unit=unit, noise=noise)
    try:
        yield kernel
    finally:
        if not isinstance(ledger, Ledger) and isinstance(kernel.ledger, Ledger):
            kernel.ledger.close()
