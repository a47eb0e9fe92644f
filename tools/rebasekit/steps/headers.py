"""What a patch file says about itself: a mail's subject and text, or DEP-3 fields."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message

_DIFF = re.compile(rb"^(?:diff --git |Index: |diff -|--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][A-Za-z-]*):(?:[ \t]+(.*))?")
_KEYS = {"title", "why", "origin", "forwarded", "removal"}


def described(diff: bytes) -> dict[str, str]:
    """The header's keys that the text above the diff gives: title, why, origin, forwarded, removal."""
    found = _DIFF.search(diff)
    head = diff[: found.start()] if found else diff
    if re.match(rb"From [0-9a-f]{40} ", head):
        head = head.split(b"\n", 1)[1]
    if re.search(rb"^(?:Subject|From): ", head.split(b"\n\n", 1)[0], re.MULTILINE) and not re.search(
        rb"^Description:", head, re.MULTILINE
    ):
        told = _mail(message_from_bytes(head))
    else:
        told = _fields(head.decode("utf-8", "replace"))
    plain = {key: "".join(c for c in text if c in "\n\t" or c.isprintable()).strip() for key, text in told.items()}
    if not re.fullmatch(r"no|not-needed|https?://\S+", plain.get("forwarded", "")):
        plain.pop("forwarded", None)
    return {key: text for key, text in plain.items() if text and key in _KEYS}


def _mail(message: Message) -> dict[str, str]:
    body = message.get_payload(decode=True)
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else ""
    text = re.split(r"^---\s*$", text.replace("\r\n", "\n"), maxsplit=1, flags=re.MULTILINE)[0].strip()
    subject = message.get("Subject", "")
    try:
        title = str(make_header(decode_header(subject)))
    except (HeaderParseError, LookupError, UnicodeError):
        title = subject
    title = re.sub(r"\s*\n\s*", " ", re.sub(r"^(?:\[[^\]]*\]\s*)+", "", title))
    why, trailers = _trailers(text)
    return {"title": title, "why": why, **trailers}


def _trailers(text: str) -> tuple[str, dict[str, str]]:
    """Split off the last paragraph when it holds only `Key: value` lines."""
    start, _, last = text.rpartition("\n\n")
    lines = [_FIELD.fullmatch(line) for line in last.split("\n")]
    if not all(lines):
        return text, {}
    return start.strip(), {match[1].lower(): match[2] or "" for match in lines if match}


def _fields(text: str) -> dict[str, str]:
    """DEP-3 fields; without any, the first line is the title and the rest the reason."""
    found: dict[str, str] = {}
    key = ""
    rest: list[str] = []
    for line in text.split("\n"):
        match = _FIELD.fullmatch(line)
        if match and not rest:
            key = match[1].lower()
            found[key] = match[2] or ""
        elif line[:1] in (" ", "\t") and key and not rest:
            found[key] += "\n" + ("" if line.strip() == "." else line.strip())
        elif line.strip() or rest:
            rest.append(line)
    free = "\n".join(rest).strip()
    title, _, long = found.get("description", found.get("subject", "")).partition("\n")
    if not title:
        title, _, free = free.partition("\n")
    why = "\n\n".join(
        part for part in (long.strip(), re.split(r"^---\s*$", free, flags=re.MULTILINE)[0].strip()) if part
    )
    return {**found, "title": title, "why": why}
