"""Checks: one module each; they do not know each other, and answer from facts."""
