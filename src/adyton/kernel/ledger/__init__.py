"""The durable record of what was spent."""

from adyton.kernel.ledger.ledger import Ledger
from adyton.kernel.ledger.records import Entry, Event
from adyton.kernel.ledger.report import LedgerReport
from adyton.kernel.ledger.tally import Tally
from adyton.kernel.ledger.terms import Terms

__all__ = ["Entry", "Event", "Ledger", "LedgerReport", "Tally", "Terms"]
