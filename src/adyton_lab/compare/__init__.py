"""Every algorithm on the same public data: errors, regrets, pictures, and what the selector would have chosen."""
