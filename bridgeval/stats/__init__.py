"""From per-user values to decisions: tests, intervals, comparison, slices, gate."""
