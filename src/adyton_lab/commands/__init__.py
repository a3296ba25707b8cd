"""The laboratory's commands, each in a file of its own. ``adyton`` finds them by their entry points."""
