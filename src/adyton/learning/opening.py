"""A kernel for one fit: opened on a table or on rows in memory, and its ledger let go afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.sources import TableSource
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.schema import Schema


def declared(schema: object) -> Schema:
    """The schema, from its file if need be."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | os.PathLike):
        return Schema.from_toml(os.fspath(schema))
    raise BadInput(
        f"schema is a Schema or the path of a schema file, given {shorten(schema)}: levels, bounds and bins are "
        "declared, never learnt from the rows."
    )


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
    elif ledger is not None and os.path.exists(ledger):
        total = Ledger.read(ledger).total
    kernel = Kernel(data, schema=schema, epsilon=total, ledger=ledger, dataset=dataset, unit=unit, noise=noise)
    try:
        yield kernel
    finally:
        if not isinstance(ledger, Ledger) and isinstance(kernel.ledger, Ledger):
            kernel.ledger.close()
