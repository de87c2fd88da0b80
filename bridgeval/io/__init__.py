"""Paths, frames and streams as Arrow tables."""
