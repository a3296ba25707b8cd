"""From noisy answers to cells by least squares, and the error of the estimate: arithmetic on public numbers.

Start with :mod:`adyton.solving.solvers`, which chooses the solver that suits the queries.
"""
