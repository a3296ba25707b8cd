"""Models of tables with many attributes, made of noisy tables of few: any table, synthetic rows, which way to go."""
