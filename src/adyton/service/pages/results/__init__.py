"""Requests that were made, and their results.

Start with ``views.py``, the list and the page of a result; ``unfinished.py`` has the pages of requests without one.
``outcomes.py`` asks the service what became of a request, ``content.py`` is what a page shows of a result, and
``queries.py`` what more can be computed from it. ``comparing.py`` is about two results, ``saved.py`` about files.
"""
