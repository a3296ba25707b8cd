"""Sessions, and the outlook before anything is spent."""

from adyton.session.outlook import Outlook as Outlook
from adyton.session.preview import Preview as Preview
from adyton.session.session import Session as Session
