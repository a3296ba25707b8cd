"""The auditor: attacks on everything that could leak, and bounds on what was found."""
