"""What people see of a result: a page that opens anywhere, a picture, and what a notebook shows.

Start with ``page.py``: what a page says of any result. What a kind of result adds is in ``counts.py``, ``tables.py``,
``numbers.py`` and ``models.py``; ``charts.py`` says which picture suits what, ``pictures.py`` draws it, and ``plot.py``
puts the same drawing on a figure. ``statement.py`` makes a page of a ledger.
"""
