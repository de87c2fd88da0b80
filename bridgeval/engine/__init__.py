"""Blocks, States, Metrics, Plan, Source: the engine. Nothing in here knows a toolkit."""
