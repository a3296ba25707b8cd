"""Opening a table: choose its file, write its schema, set its total budget.

Start with ``views.py``, the pages; ``form.py`` turns the fields of a form into a schema, and a schema into fields.
"""
