"""Choice inside programs: options, what informs the choice among them, what was learnt, and the trace of it."""
