LIMITS = {"slow": 1}
load(LIMITS)
key = "slow"
register(key, LIMITS)
check(key)
