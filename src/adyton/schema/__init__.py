"""What is public about a table: its attributes, their levels, bounds and bins, and the privacy unit.

The domain is declared by a person who knows what the table is about, never learnt from the rows. Begin with
:mod:`~adyton.schema.attributes` and :mod:`~adyton.schema.declaration`.
"""

from adyton.schema.attributes import Attribute, Boolean, Categorical, Identifier
from adyton.schema.cell_groups import RowTree
from adyton.schema.declaration import Schema
from adyton.schema.files import FileFormat, ReportWords
from adyton.schema.numbers import Duration, Integer, Latitude, Longitude, Numeric, Point
from adyton.schema.reading import LookUp, Reading
from adyton.schema.times import Date, Datetime

__all__ = [
    "Attribute",
    "Boolean",
    "Categorical",
    "Date",
    "Datetime",
    "Duration",
    "FileFormat",
    "Identifier",
    "Integer",
    "Latitude",
    "Longitude",
    "LookUp",
    "Numeric",
    "Point",
    "Reading",
    "ReportWords",
    "RowTree",
    "Schema",
]
