"""Plans of published papers, and relatives of other plans, that ``auto`` never takes: loaded when somebody names them.

The table in :mod:`adyton.plans.registry` says where each of them is; start there.
"""
