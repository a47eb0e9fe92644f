"""Measurements of a running server: what its cache keeps, how fast it is, and whether two servers answer alike."""
