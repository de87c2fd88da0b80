"""Arrow tables as Slates: ids, encoding, rows, grouping, history, context."""
