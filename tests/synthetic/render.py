"""From the model to files, and the lines on which each statement stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from synthetic.model import File, Node, Tree


@dataclass
class Sheet:
    """Lines without ends; `spans` are the first and last line (from 1) of every statement, comments left out."""

    indent: str
    lines: list[str] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)

    def put(self, text: str, depth: int) -> None:
        """Write a line; what follows in a string of several lines stands as it is."""
        first, *rest = text.split("\n")
        self.lines += [self.indent * depth + first, *rest]

    def statement(self, node: Node, depth: int) -> None:
        self.lines += [""] * node.blank
        for comment in node.comments:
            self.put(f"# {comment}", depth)
        first = len(self.lines) + 1
        for decorator in node.decorators:
            self.put(f"@{decorator}", depth)
        self.header(node, depth)
        for number, block in enumerate(node.blocks):
            if number:
                self.put(block.head, depth)
            for inner in block.body:
                self.statement(inner, depth + 1)
        self.spans[node.label] = (first, len(self.lines))

    def header(self, node: Node, depth: int) -> None:
        trail = f"  # {node.trail}" if node.trail else ""
        if not node.items or not node.spread:
            self.put(node.line() + trail, depth)
            return
        pre, post = node.head()
        self.put(pre, depth)
        starred = any(item.text.startswith("*") for item in node.items)
        for number, item in enumerate(node.items):
            last = number + 1 == len(node.items)
            self.put(item.shown() + ("" if last and starred else ","), depth + 1)
        self.put(post + trail, depth)


def sheet(file: File) -> Sheet:
    made = Sheet(file.indent)
    for number, node in enumerate(file.body):
        if number and node.kind in ("def", "class"):
            made.lines += ["\f" if file.feed else "", ""]
        made.statement(node, 0)
    return made


def encoded(file: File) -> bytes:
    text = file.newline.join(sheet(file).lines)
    text += file.newline if file.final and text else ""
    return (b"\xef\xbb\xbf" if file.bom else b"") + text.encode()


def rendered(tree: Tree) -> dict[str, bytes]:
    made = {path: encoded(file) for path, file in tree.files.items()}
    return made | {path: "".join(f"{line.text}\n" for line in lines).encode() for path, lines in tree.texts.items()}


def at_column_0(nodes: list[Node]) -> str:
    """Our lines as a hunk holds them."""
    return "".join(f"{line}\n" for line in sheet(File(nodes)).lines)
