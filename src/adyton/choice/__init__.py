"""Choosing: among options inside a program (Jostle), and among algorithms for a workload (Pythia).

Start with ``maker`` for programs and ``pythia`` for algorithms; both leave a ``decision``. ``training`` is for public
data; what trains on many public data sets is in the laboratory.
"""
