"""Sums, means, variances and quantiles of numbers by groups, from what is measured to what is reported.

Start with ``programs``: what each measures, and which is best. ``parts`` and ``quantiles`` make statistics of that.
"""
