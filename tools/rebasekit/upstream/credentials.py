"""How git proves who one is without the token ever being an argument, a remote or a file.

It travels as `http.<origin>.extraHeader` in the child's environment, for the one origin that it belongs to, and is
taken out of every message that git prints.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from rebasekit.errors import UsageError
from rebasekit.upstream import transfer

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TRACES = ("GIT_TRACE", "GIT_CURL_", "GIT_REDACT")  # they can write headers to a log


@dataclass(frozen=True)
class Access:
    """A remote's URL without user and password, and the secret that git may show to its origin."""

    url: str
    user: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str, token: str = "") -> Access:
        """Take a password out of the URL; the token wins over it. Raises UsageError for what git must not see."""
        found = re.match(r"https?://", url)
        if not found:
            return cls(transfer.check_url(url))
        parts = urlsplit(url)
        host = parts.hostname or ""
        bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        if parts.scheme == "http" and host not in _LOOPBACK:
            raise UsageError(f"`{bare}` would send the token in the open", hint="use the repository's https:// URL")
        if parts.scheme == "https":
            transfer.check_url(bare)
        user, secret = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(bare, "x-access-token" if token or not user else user, token or secret)

    @property
    def _basic(self) -> str:
        return base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()

    def environment(self, base: dict[str, str]) -> dict[str, str]:
        """A child's environment made of `base`, with the header for this origin and no traces of it."""
        env = {key: value for key, value in base.items() if not (self.secret and key.startswith(_TRACES))}
        env["GIT_ALLOW_PROTOCOL"] = "file:https:ssh:git" + (":http" if self.url.startswith("http://") else "")
        if not self.secret:
            return env
        parts = urlsplit(self.url)
        count = int(env.get("GIT_CONFIG_COUNT") or 0)
        env |= {
            "GIT_CONFIG_COUNT": str(count + 1),
            f"GIT_CONFIG_KEY_{count}": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
            f"GIT_CONFIG_VALUE_{count}": f"Authorization: Basic {self._basic}",
        }
        return env

    def redact(self, text: str) -> str:
        """`text` without the secret in any of the forms that it travels in."""
        forms = {self.secret, quote(self.secret, safe=""), self._basic} - {""} if self.secret else set()
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "***")
        return text
