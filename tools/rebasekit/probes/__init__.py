"""What runs around a serving process: process groups, scripts for its environment, and what they report."""
