"""From per-user values to decisions: tests, intervals, differences, slices, non-inferiority.

Numbers only. Words, tables and pictures are in `report`, which imports this room; this room never imports `report`, nor
anything that evaluates.
"""
