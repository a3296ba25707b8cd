"""Whether a table has what its schema declares: what can be told without a row, and of public tables the rest."""

from adyton.checking.declared import Check, check_table, schema_of_table
from adyton.checking.public_rows import Fit, look_at_public_rows

__all__ = ["Check", "Fit", "check_table", "look_at_public_rows", "schema_of_table"]
