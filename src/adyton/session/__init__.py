"""Sessions: one table, one budget, and the single path from a request to a result.

Start with :class:`~adyton.session.session.Session`; :mod:`~adyton.session.run` is the path that every request takes.
:mod:`~adyton.session.remote` is the same at a service.
"""

from adyton.session.run import Preview as Preview
from adyton.session.session import Session as Session
