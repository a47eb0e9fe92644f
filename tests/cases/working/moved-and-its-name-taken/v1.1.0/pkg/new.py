import os


class Legacy:
    total = 0

    def go_on(self, x):
        """Do it."""
        log("start")
        y = x + 1
        key = "fast"
        self.total += y
        if y > 3:
            self.flag = True
        return y
