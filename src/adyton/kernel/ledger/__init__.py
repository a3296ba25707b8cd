"""The durable record of what was spent: start with ``ledger``.

``file`` handles its file, ``records`` its contents, ``terms`` whom its numbers protect, ``words`` its reports.
"""

from adyton.kernel.ledger.ledger import Ledger as Ledger
from adyton.kernel.ledger.ledger import Tally as Tally
from adyton.kernel.ledger.records import Entry as Entry
from adyton.kernel.ledger.records import Event as Event
from adyton.kernel.ledger.terms import Terms as Terms
from adyton.kernel.ledger.words import LedgerReport as LedgerReport
