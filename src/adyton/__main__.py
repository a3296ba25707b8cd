"""``python -m adyton`` is the command ``adyton``."""

from adyton.cli.main import main

if __name__ == "__main__":
    main()
