"""Private problem instances: what an algorithm reaches on each of them, at every parameter that may be chosen."""
