"""Every algorithm on the same public data: errors, regrets, pictures, and what the selector would have chosen.

Begin with :mod:`adyton_lab.compare.experiment`, which runs them; ``results`` writes the page.
"""
