"""The formulas that the theory chapters check: small pure functions in float64, each with its source beside it."""
