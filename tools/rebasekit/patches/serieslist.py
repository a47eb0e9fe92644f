"""The list `patches` in `series.toml`, changed in place."""

from __future__ import annotations

import tomlkit
from tomlkit.items import Array

from rebasekit.errors import PatchsetError
from rebasekit.patches.document import Document


def add_name(text: str, name: str, before: str | None = None) -> str:
    """`series.toml` with a patch added last, or before another one."""
    names = Document(text).data["patches"]
    if before is not None and before not in names:
        raise PatchsetError("series.toml: patches", f"there is no `{before}` to put `{name}` before")
    position = len(names) if before is None else names.index(before)
    return set_names(text, [*names[:position], name, *names[position:]])


def remove_name(text: str, name: str) -> str:
    """`series.toml` without a patch."""
    names = Document(text).data["patches"]
    return set_names(text, [other for other in names if other != name])


def set_names(text: str, wanted: list[str]) -> str:
    """`series.toml` with exactly these patches in this order; comments in the list stay where they can."""
    document = Document(text)
    entry = next(entry for entry in document.sections[0].entries if entry.key == ("patches",))
    old = text[entry.value_start : entry.value_end]
    if "\n" not in old:
        document.set(0, "patches", wanted, ())
        return document.text
    array = tomlkit.parse(f"x = {old}\n")["x"]
    assert isinstance(array, Array)
    for position in reversed(range(len(array))):
        if array[position] not in wanted:
            del array[position]
    for position, name in enumerate(wanted):
        if position == len(array):
            array.append(name)
        elif array[position] != name:
            array.insert(position, name)
    new = text[: entry.value_start] + array.as_string() + text[entry.value_end :]
    if Document(new).data["patches"] != wanted:
        document.set(0, "patches", wanted, ())
        return document.text
    return new
