"""The command ``adyton``: what ``python -m adyton`` and the console script run."""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    """Load the command and run it. Loading takes a second; Ctrl-C within it ends the command as later."""
    try:
        import_module("adyton.cli.main").main()
    except KeyboardInterrupt:
        sys.stderr.write("adyton: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
