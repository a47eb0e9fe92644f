"""An issue about a run that failed: what the bot was doing, what went wrong, and what to do."""

from __future__ import annotations

from rebasekit.errors import RebasekitError
from rebasekit.report.markdown import block, code, escape, prose

_LONGEST = 8_000  # characters of a message


def title(key: str) -> str:
    """One title per release, and one for the run as a whole."""
    return "rebase: looking for new releases failed" if key == "run" else f"rebase: {key} failed"


def body(key: str, error: Exception, attached: str = "") -> str:
    """The text; the same trouble gives the same text, so that it is told once."""
    parts = [f"{'The bot' if key == 'run' else code(key)} could not be brought to a pull request:"]
    if isinstance(error, RebasekitError):
        parts.append(f"- {prose(error.message[:_LONGEST])}")
        if error.hint:
            parts.append(f"What may help:\n\n{block((error.hint,), 'sh')}")
    else:
        told = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:_LONGEST]
        parts.append(f"This is a bug in rebasekit: {escape(told)}")
    command = "rebasekit bot --dry-run" + ("" if key == "run" else f" --tag {key}")
    parts.append(f"To see it by hand, without any change here:\n\n{block((command,), 'sh')}")
    if attached:
        parts.append(f"[The run that wrote this]({attached}) has the log.")
    parts.append("The bot closes this when it works again.")
    return "\n\n".join(parts) + "\n"
