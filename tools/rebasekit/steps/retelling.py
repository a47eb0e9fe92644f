"""Hunks of one file said anew without losing what people said about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rebasekit.edit import derive
from rebasekit.edit.source import Unreadable
from rebasekit.model.hunk import Form, Hunk, Place
from rebasekit.steps.bench import Bench
from rebasekit.steps.fileforms import attempts, line_changes, name_of, text_of, with_body
from rebasekit.steps.rescript import rescripted
from rebasekit.steps.workspace import pin_tag
from rebasekit.upstream.merge import merge3


@dataclass
class Retelling:
    """One file of one release; `used` are the ids that the patch has."""

    bench: Bench
    path: str
    used: set[str]

    def form_of(self, hunk: Hunk) -> Form:
        selected = hunk.form_for(self.bench.tag)
        assert selected is not None
        return selected[1]

    def with_form(self, hunk: Hunk, form: Form) -> Hunk:
        """The hunk with another form for the tag; forms that share its lines go along, others keep their body."""
        selected = hunk.form_for(self.bench.tag)
        assert selected is not None
        index, old = selected
        for number, other in enumerate(hunk.forms):
            if number != index and (other.lines, other.body, other.place) == (old.lines, old.body, old.place):
                hunk = hunk.with_form(number, replace(other, lines=form.lines, keep_newlines=form.keep_newlines))
        shared = form.body is not None and any(
            other.body == form.body and other.lines != form.lines for i, other in enumerate(hunk.forms) if i != index
        )
        hunk = hunk.with_form(index, form)
        if form.place is Place.DELETE or shared or (form.body is None and form.place in (Place.EDIT, Place.TEXT)):
            hunk = with_body(hunk, index, name=f"{hunk.id}-{index}" if shared else "")
        return hunk

    def missing(self, got: bytes, wanted: bytes, gone: list[Hunk]) -> Iterator[tuple[list[Form], list[Hunk]]]:
        """Forms from what the file is to what it should be: on upstream's text, else on our own lines.

        Scripts among the hunks that are gone come first, as hunks: they stay scripts.
        """
        path = self.path
        pristine = self.bench.pristine(path)
        if pristine is not None:
            ours, base = text_of(path, wanted), text_of(path, got)
            merged = merge3(base.text, ours.text, text_of(path, pristine).text)
            if not merged.conflicts:
                new = ours.with_text(merged.text).encode()
                if new == pristine:
                    return  # it takes back what a kept hunk does
                yield from self._scripts(pristine, new, gone)
                yield from ((forms, []) for forms in attempts(path, pristine, new))
        if got != pristine:
            yield next(iter(attempts(path, got, wanted))), []

    def _scripts(self, pristine: bytes, new: bytes, gone: list[Hunk]) -> Iterator[tuple[list[Form], list[Hunk]]]:
        path, said = self.path, list[Hunk]()
        base, wanted = text_of(path, pristine), text_of(path, new)
        changes = list(line_changes(base.text, wanted.text))
        for hunk in gone:
            form = self.form_of(hunk)
            scripted = form.place in (Place.EDIT, Place.TEXT) and form.file == path
            if scripted and (told := rescripted(form, base, changes)):
                changes = told[1]
                here = pin_tag(form, self.bench.space.series.base) == self.bench.tag
                said.append(self.with_form(hunk, told[0] if here else self.bench.fresh(told[0])))
        if said and path.endswith(".py") and changes:
            with contextlib.suppress(Unreadable):
                yield derive.forms(path, base, changes), said
        elif said and not changes:
            yield [], said

    def named(self, forms: list[Form], gone: list[Hunk]) -> list[Hunk]:
        """Hunks for the forms; one that says anew what a hunk of `gone` said is that hunk."""
        result: list[Hunk | None] = [None] * len(forms)
        for same in (
            lambda f, o: (f.place, f.scope, f.at, f.to) == (o.place, o.scope, o.at, o.to),
            lambda f, o: (f.place, f.scope) == (o.place, o.scope),
            lambda f, o: f.scope == o.scope,
            lambda f, o: True,
        ):
            for number, form in enumerate(forms):
                twins = [h for h in gone if same(form, self.form_of(h))]
                rivals = [
                    f
                    for f, r in zip(forms, result, strict=True)
                    if r is None and twins and same(f, self.form_of(twins[0]))
                ]
                if result[number] is None and len(twins) == 1 and len(rivals) == 1:
                    old = self.form_of(twins[0])
                    scripted = form.place in (Place.EDIT, Place.TEXT)
                    pin = old.pin if spot(form) == spot(old) and not scripted else form.pin
                    facts = replace(form, **told_of(old), pin=pin)  # type: ignore[arg-type]
                    result[number] = self.with_form(twins[0], facts)
                    gone.remove(twins[0])
        used = set(self.used)
        return [
            hunk or with_body(Hunk(self.bench.patch, name_of(form, used), (form,)))
            for form, hunk in zip(forms, result, strict=True)
        ]


def spot(form: Form) -> tuple[object, ...]:
    """What a pin's digests are of."""
    return form.file, form.place, form.scope, form.at, form.to


def told_of(form: Form) -> dict[str, object]:
    """What people said about a form, and where it is kept."""
    return {key: getattr(form, key) for key in ("body", "uses", "needs", "relies", "tags")}
