"""Body files of a patch under edit."""

from __future__ import annotations

from collections.abc import Iterable

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import Form
from rebasekit.patches.body import body_path
from rebasekit.patches.transaction import Transaction


def write_bodies(transaction: Transaction, folder: str, forms: Iterable[Form]) -> None:
    """Stage the body file of each form that has one; raise PatchsetError when two forms want different contents."""
    written: dict[str, str] = {}
    for form in forms:
        if form.body is None:
            continue
        where = f"{folder}/patch.toml: body"
        try:
            path = body_path(folder, form.body, form.place)
        except ValueError as error:
            raise PatchsetError(where, f"`{form.body}` {error}") from None
        if path == f"{folder}/patch.toml":
            raise PatchsetError(where, "`patch.toml` is the patch itself")
        if written.setdefault(path, form.lines) != form.lines:
            raise PatchsetError(where, f"`{form.body}` cannot hold the lines of two forms that differ")
        transaction.write(path, form.lines)


def drop_bodies(transaction: Transaction, folder: str, before: set[str], after: set[str]) -> None:
    """Stage the deletion of body files that nothing uses any more; what lies in `kernels/` has other users."""
    for path in sorted(before - after):
        if path.startswith(f"{folder}/") and transaction.files.exists(path):
            transaction.delete(path)
