"""The store of upstream releases and the only door to git; callers need `Store`, `cache_dir` and `merge` only."""
