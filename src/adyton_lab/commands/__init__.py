"""The laboratory's commands, each in a file of its own, which loads what it runs when it is called.

``adyton`` finds them by the entry points ``adyton.commands`` (pyproject.toml): begin there.
"""
