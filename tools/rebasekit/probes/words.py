"""What a server says of an error."""

from __future__ import annotations

import json


def error_words(text: str) -> str:
    """The words of an error body, on one line."""
    try:
        data = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:300]
    found = data.get("error", data) if isinstance(data, dict) else data
    found = found.get("message", found) if isinstance(found, dict) else found
    return " ".join(str(found).split())[:300]
