"""What a series means, as one hash: its forms and facts; no pins, comments, reasons or file names of bodies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from rebasekit.model.hunk import Form, Series


def series_digest(series: Series) -> str:
    """SHA-256 in hexadecimal. Equal for two series that do the same to every tag and promise the same of it."""
    meaning = {
        "patches": [
            {
                "name": patch.name,
                "depends": patch.depends,
                "hunks": [[hunk.id, [_form(form) for form in hunk.forms]] for hunk in patch.hunks],
            }
            for patch in series.patches
        ],
        "entries": series.entries,
        "deployment": series.deployment,
    }
    text = json.dumps(meaning, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _form(form: Form) -> dict[str, object]:
    data = asdict(form)
    del data["pin"], data["body"]
    data["place"] = form.place.value
    return data
