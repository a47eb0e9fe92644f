"""The hunks of a `patch.toml` as sections of its document."""

from __future__ import annotations

from typing import Any

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import Form, Hunk, Patch
from rebasekit.patches import compose
from rebasekit.patches.document import Document
from rebasekit.patches.form import FORM_KEYS

_FORM = tuple(key for key in compose.HUNK if key in FORM_KEYS)
_VARIANT = ("hunk", "variant")


class HunkSections:
    """Finds and rewrites hunks; `where` is the file's name in messages."""

    def __init__(self, document: Document, where: str) -> None:
        self.document = document
        self.where = where

    def _mains(self) -> dict[str, tuple[int, dict[str, Any]]]:
        raw: list[dict[str, Any]] = self.document.data.get("hunk", [])
        found = self.document.find(("hunk",))
        if len(found) != len(raw):
            raise PatchsetError(
                self.where, "writes its hunks as a list of inline tables; only `[[hunk]]` can be edited"
            )
        return {data["id"]: (section, data) for section, data in zip(found, raw, strict=True)}

    def main(self, ident: str) -> int:
        """Position of the hunk's own section."""
        return self._mains()[ident][0]

    def variants(self, ident: str) -> list[tuple[int, dict[str, Any]]]:
        """Positions and contents of the hunk's variants."""
        section, data = self._mains()[ident]
        raw = data.get("variant", [])
        found = self.document.find(_VARIANT, section, self.document.group_end(section))
        if len(found) != len(raw):
            raise PatchsetError(
                f'{self.where}: hunk "{ident}": variant',
                "is a list of inline tables; only `[[hunk.variant]]` can be edited",
            )
        return list(zip(found, raw, strict=True))

    def write_form(self, ident: str, index: int, form: Form, base: Form | None) -> None:
        """Rewrite one form; `base` is the base form for a variant."""
        section, data = self._mains()[ident] if index == 0 else self.variants(ident)[index - 1]
        values, own = compose.form_values(form), compose.own_values(form, base)
        compose.sync(self.document, section, values, own, data, compose.VARIANT[:1] + _FORM if index else _FORM)

    def add_variant(self, ident: str, form: Form, base: Form) -> None:
        stop = self.document.span(self.main(ident))[1]
        self.document.insert_after(stop, compose.variant_text(form, base))

    def write_hunk(self, hunk: Hunk) -> None:
        """Make an existing hunk say exactly this, its variants included."""
        section, data = self._mains()[hunk.id]
        values, own = compose.hunk_values(hunk), compose.own_hunk_values(hunk)
        compose.sync(self.document, section, values, own, data, compose.HUNK)
        base, *forms = hunk.forms
        wanted = [form.tags for form in forms]
        while len(have := [data.get("tags") for _, data in self.variants(hunk.id)]) > len(wanted):
            # The first that is not wanted, else a surplus one at the end.
            odd = next((number for number, tags in enumerate(have) if tags not in wanted), len(have) - 1)
            self.document.remove(self.variants(hunk.id)[odd][0])
        for number, form in enumerate(forms, 1):
            if number <= len(have):
                self.write_form(hunk.id, number, form, base)
            else:
                self.add_variant(hunk.id, form, base)

    def write_patch(self, patch: Patch, before: Patch) -> None:
        """Make the document, which reads as `before`, say exactly `patch`."""
        document = self.document
        values, own = compose.header_values(patch), compose.own_header_values(patch)
        compose.sync(document, 0, values, own, document.data, compose.HEADER)
        wanted = {hunk.id: hunk for hunk in patch.hunks}
        for ident in [ident for ident in self._mains() if ident not in wanted]:
            document.remove(self.main(ident))
        mains = self._mains()
        kept = [ident for ident in wanted if ident in mains]
        if kept != list(mains):
            document.rearrange([section for section, _ in mains.values()], [mains[ident][0] for ident in kept])
        previous = ""
        for hunk in patch.hunks:
            if hunk.id not in mains:
                stop = document.span(self.main(previous))[1] if previous else document.stop(0)
                document.insert_after(stop, compose.hunk_text(hunk))
            elif hunk not in before.hunks:
                self.write_hunk(hunk)
            previous = hunk.id
