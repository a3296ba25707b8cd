"""Mechanisms that only a published algorithm needs, loaded when it is named.

One file for each algorithm, or for a few that belong together; start with ``statistic``, the simplest.
"""
