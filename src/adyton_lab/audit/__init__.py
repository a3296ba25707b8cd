"""The auditor: attacks on everything that could leak, and bounds on what they show.

Begin with :mod:`adyton_lab.audit.run`, which lists all checks. Each other module is one kind of attack; ``trusted``
lists the modules in which a mistake can make ε false.
"""
