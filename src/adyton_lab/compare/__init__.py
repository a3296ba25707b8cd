"""Every algorithm on the same public data: errors, regrets, plots, and what the selector would have chosen.

Begin with :mod:`adyton_lab.compare.experiment`, which runs the algorithms; ``results`` writes the page.
"""
