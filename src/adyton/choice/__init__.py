"""Choosing: among options inside a program (Jostle), and among algorithms for a workload (Pythia).

Start with ``maker`` for programs and ``pythia`` for algorithms; both record a ``decision``. ``training`` trains choice
makers on public data; training on many public data sets is in the laboratory.
"""
