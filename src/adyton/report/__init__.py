"""What people see of a result: a page that opens anywhere, a picture, and what a notebook shows.

Start with ``view.py``, what a page is made of, and ``page.py``. What a kind of result says by itself is in
``counts.py``, ``tables.py``, ``numbers.py``, ``models.py`` and ``configurations.py``; pictures begin in ``charts.py``.
"""
