"""Plans of published papers, and relatives of other plans, that ``auto`` never chooses: loaded only by name.

The table in :mod:`adyton.plans.registry` lists where each plan is; start there.
"""
