"""The laboratory's commands, one per file; each loads the modules it needs when it is called.

``adyton`` finds them by the entry points ``adyton.commands`` (pyproject.toml): begin there.
"""
