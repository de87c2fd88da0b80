"""Ids, Rows, Slates, ranking, Batch, Context: from objects to dense rectangles."""
