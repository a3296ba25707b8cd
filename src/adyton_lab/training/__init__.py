"""Training on public data: experiments, selectors of algorithms, choices inside programs, accuracies of classifiers.

Start with ``delphi``, which trains selectors by ``experiments``; ``choices`` learns what a program decides.
"""
