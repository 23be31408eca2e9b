"""Starts ranks and brings back results or the first cause of failure."""
