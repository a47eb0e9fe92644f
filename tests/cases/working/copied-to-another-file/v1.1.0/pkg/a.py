import sys
import os


class Fast:
    total = 0

    def go(self, x):
        """Do it."""
        log("start")
        y = x + 1
        key = "fast"
        self.total += y
        if y > 3:
            self.flag = True
        return y
