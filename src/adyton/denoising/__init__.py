"""Removing noise from answers at no cost in privacy: posterior means under priors fitted to the answers.

Start with :mod:`adyton.denoising.change_points` for cells along a line, and :mod:`adyton.denoising.top_down` for trees.
"""
