"""Numbers by groups: sums, means, variances and quantiles, from what is measured to what is reported."""
