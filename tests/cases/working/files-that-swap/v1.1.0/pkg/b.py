LIMITS = {"fast": 1}
load(LIMITS)
key = "fast"
register(key, LIMITS)
check(key)
