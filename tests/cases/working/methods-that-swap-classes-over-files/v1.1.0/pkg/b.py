import os


class Slow:
    total = 0

    def run(self, x):
        """Do it."""
        log("start")
        y = x + 1
        key = "fast"
        self.total += y
        if y > 3:
            self.flag = True
        return y

    def stop(self, x):
        """Do it."""
        log("start")
        y = x + 1
        key = "end"
        self.total += y
        if y > 3:
            self.flag = True
        return y
