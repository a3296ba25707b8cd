"""Mechanisms that only published algorithms need, loaded on first use.

There is a file for each algorithm, or for a few that belong together; start with ``statistic``, the simplest.
"""
