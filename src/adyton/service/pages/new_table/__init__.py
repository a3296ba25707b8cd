"""Opening a table: choose its file, write its schema, set its total budget.

Start with ``views.py``, the pages; ``drafts.py`` says what somebody has typed so far and what is wrong with it, and
``form.py`` turns the fields of a form into a schema, and a schema into fields.
"""
