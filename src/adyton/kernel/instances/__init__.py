"""Private problem instances, and the choice of a parameter with which an algorithm does well on all of them.

Start with ``tuned_parameter``, the mechanisms; ``opening`` makes kernels, ``votes`` has the scores of each parameter on
an instance, ``lattice`` the parameters.
"""
