"""Sums, means, variances and quantiles of numbers by groups, from the measurements to the reported statistics.

Start with ``programs``: what each program measures, and which is best. ``parts`` and ``quantiles`` compute statistics.
"""
