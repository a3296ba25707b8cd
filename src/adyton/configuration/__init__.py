"""Private algorithm configuration: tune a parameter of an algorithm on instances that nobody may learn about."""
