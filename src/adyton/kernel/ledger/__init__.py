"""The durable record of what was spent."""

from adyton.kernel.ledger.ledger import Ledger
from adyton.kernel.ledger.records import Entry, Event, LedgerReport

__all__ = ["Entry", "Event", "Ledger", "LedgerReport"]
