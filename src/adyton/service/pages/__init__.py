"""The pages of the service: what a browser shows. A process of its own makes them; it has no rows and no ledger.

Start with ``site.py``, the process, which finds the view of a path. A view asks the service like any client, with the
token of whoever looks: everything on a page is a request or a result. ``visits.py`` has what a view gets and returns,
``requests.py`` what all pages say of a request.
"""
