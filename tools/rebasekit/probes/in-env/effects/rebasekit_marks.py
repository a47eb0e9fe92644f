"""Code whose watched lines say that they ran, for Pythons without `sys.monitoring`: calls in front of statements.

A trace function would do the same, and makes everything else in the process two to three times slower. A statement's
own lines count when it starts, all of them; the body of a lambda that stands on other lines counts when it is called.
What a Triton kernel runs is not seen: it is compiled from the text.
"""

import ast
import builtins

MARK, BUILT = "__rebasekit_mark__", "__rebasekit_built__"
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_IN_FUNCTION = 0x1  # CO_OPTIMIZED: module and class bodies do not have it


def instrument(source, path, lines, classes, first=0):
    """The code of a file, and its marks: number to lines, each with whether it is in a function.

    `lines` are watched, 1-based; `classes` says that each `__init__` is to say whose it is; numbers begin at `first`.
    """
    functions, bodies = set(), set()
    pristine = compile(source, path, "exec", dont_inherit=True)
    for code in codes(pristine):
        found = {line for _, _, line in code.co_lines() if line}
        (functions if code.co_flags & _IN_FUNCTION else bodies).update(found)
    marks = Marks(frozenset(lines) & (functions | bodies), functions, bodies, path if classes else "", first)
    tree = ast.fix_missing_locations(marks.visit(ast.parse(source, path)))
    return compile(tree, path, "exec", dont_inherit=True), marks.found


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def provide(mark, built):
    """Make the calls known to every module: `mark(number)` and `built(path, self)`."""
    setattr(builtins, MARK, mark)
    setattr(builtins, BUILT, built)


class Marks(ast.NodeTransformer):
    def __init__(self, lines, functions, bodies, path, first):
        self.lines, self.functions, self.bodies, self.path, self.first = lines, functions, bodies, path, first
        self.found = {}
        self.depth = 0  # functions around

    def call(self, lines, at):
        """A call for those of the lines that are watched, if any is, as a list of statements."""
        if not (mine := sorted(self.lines & lines)):
            return []
        number = self.first + len(self.found)
        inside = [line in self.functions and (self.depth > 0 or line not in self.bodies) for line in mine]
        self.found[number] = list(zip(mine, inside, strict=True))
        return [statement(MARK, [ast.Constant(number)], at)]

    def block(self, statements):
        """Statements with calls in front. A docstring and what comes from `__future__` stay first."""
        out, waiting = [], []
        for place, each in enumerate(statements):
            calls = self.call(header(each) - lambdas(each), each)
            if (place == 0 and is_text(each)) or (isinstance(each, ast.ImportFrom) and each.module == "__future__"):
                out.append(each)
                waiting += calls
            else:
                out += [*waiting, *calls, self.visit(each)]
                waiting = []
        return [*out, *waiting]

    def generic_visit(self, node):
        before = self.depth
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.depth = 0 if isinstance(node, ast.ClassDef) else before + 1
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self.block(value))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(each) if isinstance(each, ast.AST) else each for each in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            self.depth = before
        if isinstance(node, ast.ExceptHandler | ast.match_case):
            node.body[:0] = self.call(between(node, node.body[0]), node.body[0])
        return node

    def visit_FunctionDef(self, node):
        arguments = [*node.args.posonlyargs, *node.args.args]
        node = self.generic_visit(node)
        if self.path and node.name == "__init__" and arguments:
            what = [ast.Constant(self.path), ast.Name(arguments[0].arg, ast.Load())]
            node.body.insert(int(is_text(node.body[0])), statement(BUILT, what, node.body[0]))
        return node

    def visit_Lambda(self, node):
        self.depth += 1
        calls = self.call(own(node.body) - {node.lineno}, node.body)
        node = self.generic_visit(node)
        self.depth -= 1
        for each in calls:  # it gives None, so what follows is the value
            node.body = ast.copy_location(ast.BoolOp(ast.Or(), [each.value, node.body]), node.body)
        return node


def statement(name, arguments, at):
    """A call on the line where something else begins."""
    made = ast.Expr(ast.Call(ast.Name(name, ast.Load()), arguments, []))
    for node in ast.walk(made):
        if "lineno" in node._attributes:
            ast.copy_location(node, at)
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return made


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def own(node):
    return set(range(node.lineno, node.end_lineno + 1))


def top(node):
    """The line where something begins, with what stands above it: a decorator, or the pattern of a case."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def between(node, inner):
    """The lines before something inside begins; the first one at least."""
    return set(range(top(node), max(top(node) + 1, top(inner))))


def header(node):
    """A statement's lines without those of its blocks."""
    for name in ("body", "cases"):
        if block := getattr(node, name, None):
            return between(node, block[0])
    return own(node)


def lambdas(node):
    """Lines of a statement that only lambdas run."""
    found = set()
    for part in expressions(node):
        if isinstance(part, ast.Lambda):
            found |= own(part.body) - {part.lineno}
    return found


def expressions(node):
    """What is in a statement, and in none of its blocks."""
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield each
            yield from expressions(each)
