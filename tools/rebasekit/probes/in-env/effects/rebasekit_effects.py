"""Which lines of which files ran in this process, and which classes were built: written down as it happens.

A server ends by being killed, so nothing waits for its exit: each thing is one line, appended when it is seen first.
`run` and `body` are lines inside and outside functions, `file` is a module that was imported, `class` an instance.
"""

import os
import sys
import threading

_IN_FUNCTION = 0x1  # CO_OPTIMIZED: module and class bodies do not have it


class Probe:
    def __init__(self, config):
        self.folder = config["notes"]
        self.lines = {path: frozenset(lines) for path, lines in config.get("effects", {}).items()}
        self.classes = {path: frozenset(names) for path, names in config.get("classes", {}).items()}
        self.files = {*self.lines, *self.classes}
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self):
        self.seen, self.stream = set(), -1

    def note(self, kind, *what):
        key = (kind, *what)
        if key in self.seen:
            return
        self.seen.add(key)
        if self.stream < 0:
            path = os.path.join(self.folder, f"{os.getpid()}.tsv")
            self.stream = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self.stream, ("\t".join(map(str, key)) + "\n").encode())

    def start(self):
        if hasattr(sys, "monitoring"):
            self.monitor()
        else:
            threading.settrace(self.enter)
            sys.settrace(self.enter)

    def entered(self, code, frame):
        """A code object of one of our files begins."""
        path = code.co_filename
        if code.co_name == "<module>":
            self.note("file", path)
        elif code.co_name == "__init__" and path in self.classes and code.co_argcount:
            self.built(path, frame.f_locals.get(code.co_varnames[0]))

    def built(self, path, thing):
        for kind in type(thing).__mro__:
            if f"{kind.__module__}.{kind.__qualname__}" in self.classes[path]:
                asked, real = f"{kind.__module__}.{kind.__qualname__}", type(thing)
                self.note("class", asked, f"{real.__module__}.{real.__qualname__}")

    def ran(self, code, line):
        if line in self.lines.get(code.co_filename, ()):
            self.note("run" if code.co_flags & _IN_FUNCTION else "body", code.co_filename, line)

    # Before Python 3.12: a trace function, which gives up on a call as soon as it knows the file.

    def enter(self, frame, event, arg):
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        self.entered(code, frame)
        return self.step if code.co_filename in self.lines else None

    def step(self, frame, event, arg):
        if event == "line":
            self.ran(frame.f_code, frame.f_lineno)
        return self.step

    # From Python 3.12: a place that has nothing to say is switched off for good.

    def monitor(self):
        watch = sys.monitoring
        tool = watch.DEBUGGER_ID + 3
        watch.use_tool_id(tool, "rebasekit effects")

        def begin(code, offset):
            if code.co_filename not in self.files:
                return watch.DISABLE
            self.entered(code, sys._getframe(1))
            return None

        def line(code, number):
            self.ran(code, number)
            return watch.DISABLE

        watch.register_callback(tool, watch.events.PY_START, begin)
        watch.register_callback(tool, watch.events.LINE, line)
        watch.set_events(tool, watch.events.PY_START | watch.events.LINE)
