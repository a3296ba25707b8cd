"""Asking a table: from the choice of a question to the request that is sent.

Start with ``views.py``, the pages; ``questions.py`` has the questions, ``fields.py`` their fields; ``drafts.py`` reads
a filled-in form, ``outlooks.py`` says what to expect of it, ``scripts.py`` writes it as Python and as a command.
"""
