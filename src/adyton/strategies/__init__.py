"""Strategies: which queries to measure, and how precisely, chosen without looking at the data."""
