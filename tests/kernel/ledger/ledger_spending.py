"""What the tests of the ledger share."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from adyton.kernel.ledger import Ledger

TWENTIETH = Fraction(1, 20)


def spend(ledger: Ledger, amount: Fraction | int, operator: str = "laplace", **more: object) -> int:
    return ledger.debit(amount, lineage=["root", "vectorize"], operator=operator, **more)


def filled(path: Path, debits: int = 3) -> Path:
    with Ledger.open(path, total=1000, dataset="visits") as ledger:
        for _ in range(debits):
            spend(ledger, TWENTIETH, operator="laplace on a vector " * 10)
    return path


def change(place: str, *statements: str) -> None:
    """Change a ledger behind its back, wherever it is."""
    if "://" not in place:
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)
        return
    import psycopg

    plain, _, schema = place.rpartition("&schema=")
    with psycopg.connect(plain, autocommit=True) as server:
        server.execute(f"SET search_path TO {schema}")
        for statement in statements:
            server.execute(statement)
