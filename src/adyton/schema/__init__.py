"""What is public about a table: its attributes, their levels, bounds and bins, and the privacy unit.

The domain is declared by a person who knows what the table is about; it is never learnt from the rows.
"""

from adyton.schema.attributes import Attribute, Boolean, Categorical, Identifier
from adyton.schema.declaration import Schema
from adyton.schema.file_format import FileFormat
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.reading import LookUp, Reading
from adyton.schema.row_tree import RowTree

__all__ = [
    "Attribute",
    "Boolean",
    "Categorical",
    "FileFormat",
    "Identifier",
    "Integer",
    "LookUp",
    "Numeric",
    "Reading",
    "RowTree",
    "Schema",
]
