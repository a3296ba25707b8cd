"""The durable record of what was spent: start with ``ledger``.

``tables`` says how its rows are written and chained, ``changes`` how those that change are, ``anchor`` how its head is
kept elsewhere, ``store`` and ``file`` where it is kept, ``records`` what its rows mean, ``agreeing`` what needs a word
to change, ``analysts`` who may spend how much, ``requests`` what was asked, ``terms`` whom its numbers protect,
``formats`` how earlier ledgers are converted, and ``words`` its reports.
"""

from adyton.kernel.ledger.analysts import Analyst as Analyst
from adyton.kernel.ledger.ledger import Ledger as Ledger
from adyton.kernel.ledger.ledger import Tally as Tally
from adyton.kernel.ledger.records import Entry as Entry
from adyton.kernel.ledger.records import Event as Event
from adyton.kernel.ledger.requests import Answered as Answered
from adyton.kernel.ledger.requests import Limits as Limits
from adyton.kernel.ledger.requests import StoredRequest as StoredRequest
from adyton.kernel.ledger.tables import Head as Head
from adyton.kernel.ledger.terms import Terms as Terms
from adyton.kernel.ledger.words import LedgerReport as LedgerReport
