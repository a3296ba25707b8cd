"""Programs, which answer tasks: each is checked, previewed, and run on a private table.

Start with ``base``; ``counts``, ``tables``, ``numbers``, ``classifier`` and ``tuning`` are the programs.
"""

from adyton.programs.base import Answer as Answer
from adyton.programs.base import Outlook as Outlook
from adyton.programs.base import Program as Program
from adyton.programs.base import load as load
from adyton.programs.base import program_of as program_of
