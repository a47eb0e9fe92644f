"""Everything that is wrong with `patchset/` and `upstream-map/`, gathered so that one run shows all of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebasekit.errors import PatchsetError
from rebasekit.visible import visible

LIMIT = 200  # a hostile file can be wrong in a million places


@dataclass(frozen=True)
class Warned:
    """Something odd that does not stop a command: `where` is `file: key`."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class PatchsetProblems(PatchsetError):
    """All problems of one reading. `entries` has one error each; `where` and `hint` are the first one's."""

    def __init__(self, entries: tuple[PatchsetError, ...]) -> None:
        first = entries[0]
        hint = next((entry.hint for entry in entries if entry.hint), None)
        super().__init__(first.where, "", hint=hint)
        self.entries = entries
        self.message = "\n".join(entry.message for entry in entries)
        self.args = (self.message,)


@dataclass
class Problems:
    """Collects errors and warnings while files are read."""

    errors: list[PatchsetError] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    left_out: int = 0

    def add(self, where: str, message: str, *, hint: str | None = None) -> None:
        if len(self.errors) >= LIMIT:
            self.left_out += 1
            return
        self.errors.append(PatchsetError(visible(where), visible(message), hint=hint))

    def warn(self, where: str, message: str) -> None:
        if len(self.warnings) < LIMIT:
            self.warnings.append(Warned(visible(where), visible(message)))

    def check(self) -> None:
        """Raise PatchsetProblems with all that was found, if anything was."""
        if not self.errors:
            return
        entries = list(self.errors)
        if self.left_out:
            entries.append(PatchsetError(entries[-1].where, f"… and {self.left_out} more problems"))
        raise PatchsetProblems(tuple(entries))


def short(value: object) -> str:
    """A value from a file, in backquotes and never longer than a line."""
    text = visible(str(value).replace("\n", "\\n"))
    return f"`{text if len(text) <= 80 else text[:77] + '…'}`"
