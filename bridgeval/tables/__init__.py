"""Turns Arrow tables into Slates: ids, encoding, rows, grouping, history, context."""
