"""The durable record of what was spent."""

from adyton.kernel.ledger.ledger import Ledger
from adyton.kernel.ledger.records import Entry, Event, LedgerReport
from adyton.kernel.ledger.tally import Tally

__all__ = ["Entry", "Event", "Ledger", "LedgerReport", "Tally"]
