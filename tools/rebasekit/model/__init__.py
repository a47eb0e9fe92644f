"""Frozen data that every layer shares; no behaviour beyond what the data itself implies."""
