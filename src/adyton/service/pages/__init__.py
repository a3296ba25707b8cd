"""The pages of the service: what a browser shows. A process of its own makes them; it has no rows and no ledger.

``process.py`` answers what the HTTP process passes on; ``site.py`` finds the view of a path and makes error pages of
errors. A view asks the service like any client, with the token of whoever looks: everything on a page is a request or
a result. ``visits.py`` has what a view gets and returns; ``visitors.py`` knows who has signed in.
"""
