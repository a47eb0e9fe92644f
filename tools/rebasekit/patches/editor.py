"""Edits of a patchset in the patchset's own words, staged together and committed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import Form, Hunk, Patch, Pin
from rebasekit.patches import compose
from rebasekit.patches.bodies import drop_bodies, write_bodies
from rebasekit.patches.document import Document
from rebasekit.patches.files import Files
from rebasekit.patches.folder import bodies as body_paths
from rebasekit.patches.load import load_files, load_patch_files
from rebasekit.patches.pattern import PatternCheck, check_pattern
from rebasekit.patches.sections import HunkSections
from rebasekit.patches.serieslist import add_name, remove_name, set_names
from rebasekit.patches.transaction import Transaction

_Change = Callable[[HunkSections], None]
_Expected = Callable[[Patch, Patch], Patch]  # what to read afterwards, from what was read before and after


class Editor(Transaction):
    """A transaction on `root` that knows patches. Each edit leaves everything it does not name byte-identical.

    An edit that does not read back as meant raises PatchsetError and stages nothing. `commit` reads the whole
    staged patchset first.
    """

    def __init__(self, root: Path, patchset: str = "patchset", *, check: PatternCheck = check_pattern) -> None:
        super().__init__(root)
        self.patchset = patchset
        self.check = check

    def load(self, patch: str) -> Patch:
        """The patch as staged."""
        return load_patch_files(self.files, f"{self.patchset}/{patch}", check=self.check)

    def set_pin(self, hunk: Hunk, form_index: int, pin: Pin | None) -> None:
        """Write what a person reviewed; None removes the pin."""
        self.replace_form(hunk, form_index, replace(self._now(hunk).forms[form_index], pin=pin))

    def set_decision(self, hunk: Hunk, text: str) -> None:
        """Write the reviewer's reason; an empty text removes it."""
        wanted = replace(self._now(hunk), decision=text)
        self._edit(hunk.patch, lambda sections: sections.write_hunk(wanted), lambda before, _: _with(wanted, before))

    def replace_form(self, hunk: Hunk, index: int, form: Form) -> None:
        """Write one form and its body. Variants go on taking over from the base what they do not say themselves."""
        now = self._now(hunk)
        base = now.forms[0] if index else None

        def expected(before: Patch, after: Patch) -> Patch:
            return _with((now if index else _hunk(after, hunk.id)).with_form(index, form), before)

        self._edit(hunk.patch, lambda sections: sections.write_form(hunk.id, index, form, base), expected, [form])

    def add_variant(self, hunk: Hunk, form: Form) -> None:
        """Append a form for a range of tags."""
        now = self._now(hunk)
        wanted = replace(now, forms=(*now.forms, form))

        def change(sections: HunkSections) -> None:
            sections.add_variant(hunk.id, form, now.forms[0])

        self._edit(hunk.patch, change, lambda before, _: _with(wanted, before), [form])

    def remove_hunk(self, hunk: Hunk) -> None:
        """Remove a hunk, the comment directly above it, and body files that nothing else uses."""
        self._now(hunk)

        def expected(before: Patch, _: Patch) -> Patch:
            return replace(before, hunks=tuple(each for each in before.hunks if each.id != hunk.id))

        self._edit(hunk.patch, lambda sections: sections.document.remove(sections.main(hunk.id)), expected)

    def replace_patch(self, patch: Patch) -> None:
        """Make the files say exactly this patch; hunks, keys and comments that need no change are not touched."""
        forms = [form for hunk in patch.hunks for form in hunk.forms]
        before = self.load(patch.name)
        self._edit(patch.name, lambda sections: sections.write_patch(patch, before), lambda *_: patch, forms)

    def add_patch(self, patch: Patch, bodies: Mapping[str, str] | None = None, *, before: str | None = None) -> None:
        """Write a new patch and put it into the series, last or before another one.

        `bodies` are further files of the folder (a README); the hunks' own bodies come from their forms.
        """
        folder = f"{self.patchset}/{patch.name}"
        if self.files.exists(f"{folder}/patch.toml"):
            raise PatchsetError(f"{folder}/patch.toml", "exists", hint=f"rebasekit show {patch.name}")
        with self.rolled_back_on_error():
            for name, text in (bodies or {}).items():
                self.write(f"{folder}/{name}", text)
            write_bodies(self, folder, [form for hunk in patch.hunks for form in hunk.forms])
            self.write(f"{folder}/patch.toml", compose.patch_text(patch))
            if self.load(patch.name) != patch:
                raise PatchsetError(f"{folder}/patch.toml", "the patch cannot be written in this format")
            series = f"{self.patchset}/series.toml"
            self.write(series, add_name(self.read(series).decode(), patch.name, before))

    def remove_patch(self, name: str) -> None:
        """Remove a patch's folder and its name in the series; files in `kernels/` stay."""
        with self.rolled_back_on_error():
            for path in list(self.files.walk(f"{self.patchset}/{name}")):
                self.delete(path)
            series = f"{self.patchset}/series.toml"
            self.write(series, remove_name(self.read(series).decode(), name))

    def set_order(self, names: list[str]) -> None:
        """Write which patches the series has, in order."""
        series = f"{self.patchset}/series.toml"
        self.write(series, set_names(self.read(series).decode(), names))

    def commit(self, validate: Callable[[Files], None] | None = None) -> None:
        """Commit; by default only if the whole staged patchset can be read (else PatchsetProblems)."""
        super().commit(validate or self._validate)

    def _validate(self, files: Files) -> None:
        load_files(files, self.patchset, check=self.check)

    def _edit(self, name: str, change: _Change, expected: _Expected, forms: Iterable[Form] = ()) -> None:
        folder = f"{self.patchset}/{name}"
        path = f"{folder}/patch.toml"
        with self.rolled_back_on_error():
            before = self.load(name)
            document = Document(self.read(path).decode())
            change(HunkSections(document, path))
            write_bodies(self, folder, forms)
            self.write(path, document.text)
            after = self.load(name)
            if after != expected(before, after):
                shared = "; does another hunk use the same body file?" if forms else ""
                raise PatchsetError(path, f"the change does not read back as meant{shared}")
            drop_bodies(self, folder, body_paths(folder, before), body_paths(folder, after))

    def _now(self, hunk: Hunk) -> Hunk:
        return _hunk(self.load(hunk.patch), hunk.id)


def _hunk(patch: Patch, ident: str) -> Hunk:
    for hunk in patch.hunks:
        if hunk.id == ident:
            return hunk
    raise PatchsetError(f'{patch.name}/patch.toml: hunk "{ident}"', "is not there", hint=f"rebasekit show {patch.name}")


def _with(wanted: Hunk, patch: Patch) -> Patch:
    """The patch with that hunk in place of its namesake."""
    return replace(patch, hunks=tuple(wanted if hunk.id == wanted.id else hunk for hunk in patch.hunks))
