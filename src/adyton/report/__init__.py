"""What people see of a result: a page that opens anywhere, pictures, and the view in a notebook.

Start with ``page.py``: the page of any result. What a kind of result adds is in ``counts.py``, ``tables.py``,
``numbers.py`` and ``models.py``; ``charts.py`` chooses a picture for the data, ``pictures.py`` draws it, and
``plot.py`` puts the same drawing on a matplotlib figure. ``statement.py`` makes a page of a ledger.
"""
