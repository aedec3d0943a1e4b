"""Time averages, batch means and confidence intervals."""
