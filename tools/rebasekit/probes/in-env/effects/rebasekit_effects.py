"""Which lines of which files ran in this process, and which classes were built: written down as it happens.

A server ends by being killed, so nothing waits for its exit: each thing is one line, appended when it is seen first.
`run` and `body` are lines inside and outside functions, `file` is a module that was imported, `class` an instance.
"""

import importlib.machinery
import os
import sys

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
        self.seen, self.marked, self.stream = set(), set(), -1

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
            self.mark()

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

    # Before Python 3.12: our files are loaded with calls in front of the statements that are watched.

    def mark(self):
        import rebasekit_marks

        marks, usual = {}, importlib.machinery.SourceFileLoader.get_code

        def ran(number):
            if number not in self.marked:
                self.marked.add(number)
                path, lines = marks[number]
                for line, inside in lines:
                    self.note("run" if inside else "body", path, line)

        def get_code(loader, name):
            path = loader.get_filename(name)
            if path not in self.files:
                return usual(loader, name)
            self.note("file", path)
            lines, source = self.lines.get(path, ()), loader.get_data(path)
            code, found = rebasekit_marks.instrument(source, path, lines, path in self.classes, len(marks))
            marks.update({number: (path, each) for number, each in found.items()})
            return code

        rebasekit_marks.provide(ran, self.built)
        importlib.machinery.SourceFileLoader.get_code = get_code

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
