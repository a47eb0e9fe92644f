"""Text that others wrote, made safe to print: no terminal escapes, no characters that reorder a line."""

from __future__ import annotations

import re

# C0 and C1 controls except newline and tab, Unicode line ends, and the bidirectional overrides behind CVE-2021-42574.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with every control and direction character written out (`\\x1b`), newlines and tabs kept."""
    return _HIDDEN.sub(lambda match: ascii(match.group())[1:-1], text)
