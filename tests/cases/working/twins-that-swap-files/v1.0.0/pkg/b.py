import os


class Slow:
    total = 0

    def go(self, x):
        """Do it."""
        log("start")
        y = x + 1
        key = "slow"
        self.total += y
        if y > 3:
            self.flag = True
        return y
