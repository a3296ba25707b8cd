"""From noisy answers to cells, by least squares, and the error that the estimate has: arithmetic on public numbers.

Start with :mod:`adyton.solving.solvers`, which chooses the solver that suits the queries.
"""
