"""The service: analysts ask over HTTP, and the process that speaks HTTP holds neither rows nor their passwords.

``web.py`` answers HTTP requests and passes them to *keepers*, one for each data set, over Unix sockets
(``channel.py``); a keeper has the ledger and the queue (``operations.py``), and its *worker* opens the table.
"""
