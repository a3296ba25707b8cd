"""A handle for every kind of private data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.kernel.instances_source import InstancesSource
from adyton.kernel.shapes import Facts, InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.kernel.sources import Source, TableSource, VectorSource
from adyton.kernel.tables_source import TablesSource

if TYPE_CHECKING:
    from adyton.kernel.door import Door

KINDS: dict[type[SourceShape], type[Source]] = {
    TableShape: TableSource,
    VectorShape: VectorSource,
    TablesShape: TablesSource,
    InstancesShape: InstancesSource,
}
"""The handle on each kind of private data, by what is public about them."""


def handle(door: Door, facts: Facts) -> Source:
    """A handle on what lies behind a door."""
    return KINDS[type(facts.shape)](door, facts)
