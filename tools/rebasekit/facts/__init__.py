"""What static reading says about a tree: definitions, imports, calls, guards, attribute uses, defaults.

Nothing here imports or runs the code that is read. Start at `rebasekit.facts.query.open_facts`; see docs/facts.md.
"""
