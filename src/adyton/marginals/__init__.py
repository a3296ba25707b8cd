"""Models of tables with many attributes, made of noisy tables of few: any table, synthetic rows, and which way to go."""
