"""Private problem instances, and the choice of a parameter that an algorithm does well with on all of them.

Start with ``tuned_parameter``, the mechanisms; ``opening`` makes kernels, ``votes`` what an instance says about each
parameter, ``lattice`` the parameters.
"""
