"""Training on public data: experiments, selectors of algorithms, choices inside programs, accuracies of classifiers.

Begin with ``delphi``, which trains selectors from ``experiments``; ``choices`` learns the choices inside programs.
"""
