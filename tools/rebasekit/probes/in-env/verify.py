"""Is what this interpreter would import the patched release, the whole of it and nothing else?

Fed to the environment's own Python on standard input (`python - EXPECTED.json`), so that `sys.path` is what
`python -m PACKAGE` would see, the working folder first. Standard library only. Prints one JSON object.
"""

import base64
import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import marshal
import os
import re
import sys

PYC_HEADER = 16


def main(path):
    with open(path, encoding="utf-8") as stream:
        expected = json.load(stream)
    findings = []

    def find(kind, file, message):
        findings.append({"kind": kind, "file": str(file), "message": message})

    root = find_root(expected, find)
    copies(expected, root, find)
    if root is not None:
        contents(expected, root, find)
        extras(expected, root, find)
        bytecode(expected, root, find)
        compiled(expected, root, find)
    print(json.dumps({"python": sys.executable, "root": root, "findings": findings}))


def find_root(expected, find):
    """The folder that the package comes from, None when it cannot be imported."""
    package = expected["package"]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError) as error:
        find("not-installed", package, f"cannot be found: {error}")
        return None
    if spec is None or not spec.submodule_search_locations:
        find("not-installed", package, "is not installed in this environment")
        return None
    places = [os.path.abspath(place) for place in spec.submodule_search_locations]
    if len(places) > 1:
        find("second-copy", places[1], f"the package is spread over {len(places)} folders")
    root = os.path.dirname(places[0])
    if root not in {os.path.abspath(entry) for entry in sys.path if entry.startswith(sys.prefix)}:
        what = "the working folder" if root == os.getcwd() else "the path"
        find("shadowed", places[0], f"is imported instead of the installation: {what} has an older or other tree")
    return root


def copies(expected, root, find):
    """Other trees and other installations that one change of the path would bring up."""
    package = expected["package"]
    for entry in dict.fromkeys(os.path.abspath(entry or os.getcwd()) for entry in sys.path):
        for name in (package, package + ".py"):
            other = os.path.join(entry, name)
            if entry != root and os.path.exists(other) and not (os.path.isdir(other) and bare(other)):
                find("second-copy", other, "a second copy of the package is on the path")
    wanted = canonical(expected["name"])
    found = {}
    for distribution in importlib.metadata.distributions():
        if canonical(distribution.metadata["Name"] or "") == wanted:
            found[str(getattr(distribution, "_path", distribution))] = distribution.version
    if not found:
        find("not-installed", expected["name"], "no installation is recorded in this environment")
    for place, version in found.items():
        if version != expected["version"]:
            message = f"version {version} is recorded, {expected['version']} was built"
            find("second-copy" if len(found) > 1 else "wrong-version", place, message)
    if len(found) > 1 and len(set(found.values())) == 1:
        find("second-copy", list(found)[1], f"version {expected['version']} is recorded twice")


def bare(folder):
    """Whether a folder of the package's name holds no code: test leftovers and caches do not count."""
    return not any(name.endswith((".py", ".pyc", ".so")) for _, _, names in os.walk(folder) for name in names)


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def contents(expected, root, find):
    patched, compiled_files = set(expected["patched"]), set(expected["compiled"])
    for path, wanted in expected["files"].items():
        try:
            with open(os.path.join(root, path), "rb") as stream:
                found = digest(stream.read())
        except OSError:
            if path in compiled_files:
                find("missing-compiled", path, "is missing: the package falls back to its Python code without a word")
            else:
                find("missing", path, "is missing")
            continue
        if found != wanted:
            kind = "not-patched" if path in patched else "changed"
            find(kind, path, "is not the patched file" if path in patched else "is not the release's file")


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def extras(expected, root, find):
    """Code below the package that no wheel brought: what an earlier version left."""
    top = os.path.join(root, expected["package"])
    suffixes = (".py", *importlib.machinery.EXTENSION_SUFFIXES)
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if name.endswith(suffixes) and path not in expected["files"]:
                find("unrecorded", path, "is in the package's folder and in no wheel")


def bytecode(expected, root, find):
    """Compiled files that would run instead of the source that stands beside them."""
    for path in expected["files"]:
        if not path.endswith(".py"):
            continue
        source = os.path.join(root, path)
        for cached in caches(source):
            try:
                with open(cached, "rb") as stream:
                    data = stream.read()
                status = os.stat(source)
            except OSError:
                continue
            looked_at = accepted(data, status) and (path in expected["patched"] or unchecked(data))
            if looked_at and not same(data[PYC_HEADER:], source):
                find("stale-pyc", cached, f"would run instead of `{path}`, and was compiled from another text")


def caches(source):
    for optimization in ("", 1, 2):
        try:
            yield importlib.util.cache_from_source(source, optimization=optimization)
        except NotImplementedError:
            return


def unchecked(data):
    return data[:4] == importlib.util.MAGIC_NUMBER and int.from_bytes(data[4:8], "little") == 0b01


def accepted(data, status):
    """Whether the import system takes the file for current, by its rules."""
    if data[:4] != importlib.util.MAGIC_NUMBER:
        return False
    if int.from_bytes(data[4:8], "little") & 0b01:
        return True  # by a hash of the source, checked or not: compare the code
    seconds, size = int.from_bytes(data[8:12], "little"), int.from_bytes(data[12:16], "little")
    return seconds == int(status.st_mtime) & 0xFFFFFFFF and size == status.st_size & 0xFFFFFFFF


def same(data, source):
    try:
        found = marshal.loads(data)
        with open(source, "rb") as stream:
            wanted = compile(stream.read(), found.co_filename, "exec", dont_inherit=True)
    except (ValueError, EOFError, TypeError, SyntaxError, AttributeError):
        return False
    return found == wanted


def compiled(expected, root, find):
    """Compiled modules have to fit this interpreter and to load; the package would hide it when they do not."""
    for path in expected["compiled"]:
        place = os.path.join(root, path)
        if not os.path.exists(place):
            continue  # said above
        stem = os.path.basename(path).partition(".")[0]
        suffix = next((s for s in importlib.machinery.EXTENSION_SUFFIXES if path.endswith("/" + stem + s)), None)
        if suffix is None:
            find("missing-compiled", path, "is not for this interpreter: the package falls back to its Python code")
            continue
        if path not in expected["loaded"]:
            continue
        name = path[: -len(suffix)].replace("/", ".")
        error = load(name, place)
        if error and "shared object" in error:
            # It is linked against torch's libraries, which are found once torch has loaded them.
            with contextlib.suppress(ImportError):
                importlib.import_module("torch")
            error = load(name, place)
        if error:
            find("missing-compiled", path, f"does not load, so the package falls back to its Python code: {error}")


def load(name, place):
    """Why a compiled module does not load, None when it does."""
    try:
        loader = importlib.machinery.ExtensionFileLoader(name, place)
        importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, place, loader=loader))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


main(sys.argv[1])
