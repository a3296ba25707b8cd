"""What the tests of the ledger share."""

from fractions import Fraction
from pathlib import Path

from adyton.kernel.ledger import Ledger

TWENTIETH = Fraction(1, 20)


def spend(ledger: Ledger, amount: Fraction | int, operator: str = "laplace") -> int:
    return ledger.debit(amount, lineage=["root", "vectorize"], operator=operator)


def filled(path: Path, debits: int = 3) -> Path:
    with Ledger.open(path, total=1000, dataset="visits") as ledger:
        for _ in range(debits):
            spend(ledger, TWENTIETH, operator="laplace on a vector " * 10)
    return path
