"""The durable record of what was spent."""

from adyton.kernel.ledger.ledger import Ledger as Ledger
from adyton.kernel.ledger.records import Entry as Entry
from adyton.kernel.ledger.records import Event as Event
from adyton.kernel.ledger.report import LedgerReport as LedgerReport
from adyton.kernel.ledger.tally import Tally as Tally
from adyton.kernel.ledger.terms import Terms as Terms
