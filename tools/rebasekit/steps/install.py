"""Whether an environment really holds the patched release: asked of its own Python."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.probes.scripts import script
from rebasekit.steps.build_content import Content

_LIMIT = 300.0


@dataclass(frozen=True)
class Wrong:
    """One thing that makes the environment run something else: `kind` is one of those in docs/serving.md."""

    kind: str
    file: str
    message: str


@dataclass(frozen=True)
class Installation:
    """What was found. `root` is the folder that the package comes from, None when it cannot be imported."""

    python: str
    root: str | None
    findings: tuple[Wrong, ...]


def verify(
    python: Path,
    content: Content,
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    load: bool = True,
) -> Installation:
    """Hold an environment against `content`; nothing is imported but compiled modules (and those with `load` only).

    `environ` and `cwd` have to be those of the server: a PYTHONPATH or a folder can bring up another tree.
    Raises StateError when the interpreter cannot be asked.
    """
    package = next(
        path.split("/")[0] for path in content.files if path.count("/") == 1 and path.endswith("__init__.py")
    )
    expected = {
        "name": content.name,
        "package": package,
        "version": content.version,
        "files": dict(content.files),
        "patched": list(content.patched),
        "compiled": list(content.compiled),
        "loaded": list(content.compiled) if load else [],
    }
    with tempfile.TemporaryDirectory(prefix="rebasekit-verify-") as name:
        path = Path(name, "expected.json")
        path.write_text(json.dumps(expected))
        try:
            done = subprocess.run(
                [str(python), "-", str(path)],
                input=script("verify.py").read_text(),
                capture_output=True,
                text=True,
                cwd=cwd or name,
                env=dict(os.environ if environ is None else environ),
                timeout=_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StateError(f"`{python}` cannot be asked: {error}", hint=f"{python} --version") from None
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise StateError(f"`{python}` gave no answer: {last}", hint=f"{python} --version") from None
    return Installation(answer["python"], answer["root"], tuple(Wrong(**each) for each in answer["findings"]))
