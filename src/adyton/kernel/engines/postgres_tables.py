"""What a name of PostgreSQL stands for: stored rows, or something whose rows are not ours to judge.

Claim.  Every row that is counted is a row of a stored table, once.
Proof.  A table that is opened is stored, with all that inherit from it, and shows every row to everybody. Each query
asks once more before it reads a row, and fails if the name stands for something else by then, or if a column has
another type: a conversion that was total might not be so any more.  ∎
"""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines.own import sql_text

_STORED = ("r", "p", "m")
_WHAT = {"v": "a view", "f": "a foreign table"}
_INHERITING = (
    "with recursive family(oid) as (select c.oid union select i.inhrelid from pg_inherits i join family f "
    "on i.inhparent = f.oid) select from family join pg_class l using (oid) where l.relkind = 'f'"
)


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(name: str, database: str | None) -> str:
    """The name of a table, with its schema if there is one."""
    return ".".join(identifier(part) for part in (database, name) if part)


def kind_query(table: str) -> str:
    """A query for what the server tells about a table."""
    return (
        "select c.relkind::text, row_security_active(c.oid), current_setting('server_encoding'), "
        f"exists ({_INHERITING}), "
        "exists (select from pg_attribute a where a.attrelid = c.oid and a.attgenerated = 'v') "
        f"from pg_class c where c.oid = to_regclass({sql_text(table)})"
    )


def problem_of(kind: str, secured: bool, encoding: str, foreign: bool, computed: bool) -> str:
    """What is wrong with a table; an empty text if nothing is."""
    if kind not in _STORED or foreign:
        return f"is {_WHAT.get('f' if foreign else kind, 'no table')}, not a stored table"
    if secured:
        return "has row security, which shows some rows to you and others to others"
    if computed:
        return "has columns that are computed whenever they are read"
    return "" if encoding == "UTF8" else f"is in a database with the encoding {encoding}; UTF8 is needed"


def fingerprint(table: Any) -> str:
    """An expression for what the tables of an Ibis table are: their kinds, and their columns with their types."""
    from ibis.expr import operations

    used = sorted({*table.columns, *(field.name for field in table.op().find(operations.Field))})
    names = ", ".join(map(sql_text, used))
    told = [
        "(select concat(c.relkind, row_security_active(c.oid), (select string_agg(a.attname || a.atttypid::text, ',' "
        f"order by a.attname) from pg_attribute a where a.attrelid = c.oid and a.attname in ({names}))) "
        f"from pg_class c where c.oid = to_regclass({sql_text(quoted(node.name, node.namespace.database))}))"
        for node in table.op().find(operations.DatabaseTable)
    ]
    return f"concat({', '.join(told)})"


def unchanged(fingerprint: str, value: str) -> str:
    """A condition, asked once in a query, which fails unless an expression of :func:`fingerprint` has this value."""
    return f"(case when {fingerprint} = {sql_text(value)} then 'true' else 'changed' end)::boolean"


def place_of(connection: Any, table: str) -> tuple[str, str] | None:
    """The schema and the name of a table as it was said: its name, or the schema's, a dot and its name."""
    dots = [place for place, sign in enumerate(table) if sign == "."]
    query = (
        "select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n "
        "on n.oid = c.relnamespace where c.oid = pg_catalog.to_regclass(%s)"
    )
    for name, within in ((table, None), *((table[dot + 1 :], table[:dot]) for dot in dots)):
        found = connection.execute(query, [quoted(name, within)]).fetchone()
        if found and found[1] == name:  # the server cuts long names
            return str(found[0]), str(found[1])
    return None


def names_of(connection: Any) -> list[str]:
    """The tables that the user may read, with their schema where the name alone does not find them."""
    found = connection.execute(
        "select n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid) from pg_catalog.pg_class c "
        "join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'm', 'v', 'f') "
        "and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_t%' "
        "and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_any_column_privilege(c.oid, 'select')"
    )
    return sorted(name if visible else f"{schema}.{name}" for schema, name, visible in found.fetchall())
