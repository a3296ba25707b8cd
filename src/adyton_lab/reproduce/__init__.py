"""The evaluations of papers, run again: records of regrets, and the tables, pictures and reports made of them."""
