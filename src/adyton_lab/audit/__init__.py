"""The auditor: attacks on everything that could leak, and bounds on the privacy loss they reveal.

Begin with :mod:`adyton_lab.audit.run`, which lists all checks. Every other module is one kind of attack; ``trusted``
lists the modules in which a mistake can make ε false.
"""
