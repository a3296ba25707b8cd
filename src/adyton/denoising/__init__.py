"""From noisy counts to likely ones: posterior means and shrinkage on public numbers, at no cost in privacy."""
