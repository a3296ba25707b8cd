"""Sessions: one table, one budget, and the one way from a request to a result."""

from adyton.session.preview import Preview as Preview
from adyton.session.session import Session as Session
