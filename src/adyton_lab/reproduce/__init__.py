"""The evaluations of papers, run again: records, and the tables, pictures and reports made from them.

Begin with :mod:`adyton_lab.reproduce.evaluation`: what an evaluation is, which there are, and the files they write.
"""
