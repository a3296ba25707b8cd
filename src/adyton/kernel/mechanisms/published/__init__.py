"""Mechanisms that only a named published algorithm needs. ``auto`` runs none of them."""
