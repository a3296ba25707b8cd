"""From noisy answers to cells by least squares: public arithmetic on public numbers, at no cost in privacy."""
