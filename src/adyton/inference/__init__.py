"""From noisy answers to an estimate of the cells: public arithmetic on public numbers, at no cost in privacy."""
