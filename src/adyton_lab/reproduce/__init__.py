"""The evaluations of papers, run again: records, and the tables, pictures and reports made of them.

Begin with :mod:`adyton_lab.reproduce.evaluation`: what an evaluation is, where each one is, and the files it writes.
"""
