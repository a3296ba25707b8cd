"""Choosing an algorithm: Delphi learns from public data which one wins where, Pythia uses what it learnt."""
