"""Releases from git repositories."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.errors import RebasekitError, UpstreamError, UsageError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream import transfer
from rebasekit.upstream.release import HostileArchive
from rebasekit.upstream.store import Store

Make = Callable[..., Path]
V1, V2 = Tag("v1.0"), Tag("v2.0")
ONE = {"python/demo/a.py": b"a = 1\r\n", "python/demo/x.so": b"x", "README": b"r", ".gitattributes": b"*.md text\n"}
TWO = {"python/demo/a.py": b"a = 1\r\n", "python/demo/b.py": b"b = 2\n", "docs/big": b"x" * 9000}


def open_store(tmp_path: Path, url: object, prefix: str = "python/") -> Store:
    return Store.open(tmp_path / "cache", UpstreamSource("git", url=str(url), prefix=prefix))


@pytest.mark.parametrize("scheme", ["", "file://"])
@pytest.mark.parametrize("annotated", [False, True])
@pytest.mark.parametrize("filtering", [False, True])
def test_prefix_is_taken_off(scheme, annotated, filtering, make_repo, git, tmp_path, seen) -> None:
    repo = make_repo({"v1.0": ONE, "v2.0": TWO, "nightly": ONE, "v3.0rc1": TWO}, annotated=annotated)
    git(repo, "config", "uploadpack.allowFilter", str(filtering).lower())
    stored = git(repo, "rev-parse", "v1.0:python/demo/a.py").strip()
    with open_store(tmp_path, f"{scheme}{repo}") as store:
        assert store.available() == [V1, V2] and store.available(pre=True)[-1] == Tag("v3.0rc1")
        store.ensure(V2, seen)
        store.ensure(V1, seen)
        assert set(store.files(V1)) == {"demo/a.py"} and set(store.files(V2)) == {"demo/a.py", "demo/b.py"}
        assert store.files(V1)["demo/a.py"] == stored, "bytes are upstream's"
        assert git(repo, "rev-parse", "v1.0^{commit}").strip() in git(store.git_dir, "log", "-1", "--format=%b", "v1.0")
        assert store.tags() == [V1, V2] and store.verify() == []
        assert any("cannot leave blobs out" in note for note in seen.notes) == (scheme != "" and not filtering)
        with pytest.raises(UsageError):
            store.wheel(V1)
        repo.rename(tmp_path / "gone")
        store.ensure(V1)
        with pytest.raises(UpstreamError):
            store.ensure(Tag("v3.0"))


def test_blobs_outside_the_prefix_are_not_fetched(make_repo, git, tmp_path, monkeypatch) -> None:
    repo = make_repo({"v1.0": ONE, "v2.0": TWO})
    git(repo, "config", "uploadpack.allowFilter", "true")
    asked: list[list[str]] = []
    real = transfer.fetch_blobs
    monkeypatch.setattr(transfer, "fetch_blobs", lambda *args: (asked.append(list(args[3])), real(*args)))
    with open_store(tmp_path, f"file://{repo}") as store:
        store.ensure(V1)
        store.ensure(V2)
    assert asked[0] == [git(repo, "rev-parse", "v1.0:python/demo/a.py").strip()]
    assert asked[1] == [git(repo, "rev-parse", "v2.0:python/demo/b.py").strip()], (
        "a blob that is stored is not asked for"
    )


def test_without_prefix_and_with_bare_tags(make_repo, tmp_path) -> None:
    repo = make_repo({"1.0": {"a.py": b"1"}})
    with open_store(tmp_path, repo, "") as store:
        assert store.available() == [V1]
        store.ensure(V1)
        assert store.read(V1, "a.py") == b"1"


def test_unknown_tag_and_prefix(make_repo, tmp_path) -> None:
    repo = make_repo({"v1.0": ONE, "v2.0": {"a.py": b""}})
    with open_store(tmp_path, repo) as store:
        with pytest.raises(UpstreamError, match=r"no release `v3\.0`; the nearest are `v1\.0`, `v2\.0`"):
            store.ensure(Tag("v3.0"))
        with pytest.raises(UpstreamError, match="no files below `python/`"):
            store.ensure(V2)
        assert store.tags() == []


def test_links_become_files_and_submodules_stay_out(make_repo, git, tmp_path, seen) -> None:
    repo = make_repo({"v0.1": {"p/a.py": b"a\n"}})
    (repo / "p/same.py").symlink_to("a.py")
    (repo / "p/out.py").symlink_to("/etc/passwd")
    (repo / "p/up.py").symlink_to("../../x")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD').strip()},p/sub")
    git(repo, "add", "p/same.py", "p/out.py", "p/up.py")
    git(repo, "commit", "-qm", "x")
    git(repo, "tag", "v1.0")
    with open_store(tmp_path, repo, "p") as store:
        store.ensure(V1, seen)
        assert set(store.files(V1)) == {"a.py", "same.py"} and store.read(V1, "same.py") == b"a\n"
        assert any("2 links" in note for note in seen.notes)


def test_hostile_tree(make_repo, git, tmp_path) -> None:
    repo = make_repo({"v0.1": {"a.py": b"a\n"}})
    blob = git(repo, "rev-parse", "HEAD:a.py").strip()
    tree = git(repo, "mktree", data=f"100644 blob {blob}\t.git\n".encode()).strip()
    top = git(repo, "mktree", data=f"040000 tree {tree}\tdemo\n".encode()).strip()
    git(repo, "tag", "v1.0", git(repo, "commit-tree", "-m", "x", top).strip())
    with open_store(tmp_path, repo, "") as store:
        with pytest.raises(HostileArchive):
            store.ensure(V1)
        assert store.tags() == [] and store.verify() == []


@pytest.mark.parametrize(
    "url",
    ["", "-x", "--upload-pack=touch x", "ext::sh -c touch% x", "fd::17", "http://x/y", "ftp://x/y", "https://-x/y",
     "ssh://-oProxyCommand=x/y", "ssh://u@-oX/y", "-oX:y", "u@-oX:y", "a\nb", "javascript:://x"],
)  # fmt: skip
def test_urls_that_git_must_not_see(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_store(tmp_path, url)


@pytest.mark.parametrize("url", ["https://x/y.git", "ssh://git@x/y", "git@x:y/z.git", "git://x/y", "file:///x"])
def test_urls_that_are_fine(url: str) -> None:
    assert transfer.check_url(url) == url


def test_rewritten_url_cannot_run_a_command(make_repo, tmp_path, monkeypatch) -> None:
    """The user's `insteadOf` holds for a fetch, but only to transports that are allowed."""
    repo = make_repo({"v1.0": ONE})
    mark = tmp_path / "ran"
    config = tmp_path / "config"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    config.write_text(f'[url "file://{repo}"]\n\tinsteadOf = https://upstream.invalid/repo\n')
    with open_store(tmp_path, "https://upstream.invalid/repo") as store:
        store.ensure(V1)
    config.write_text(f'[url "ext::touch {mark} "]\n\tinsteadOf = https://upstream.invalid/repo\n')
    with open_store(tmp_path, "https://upstream.invalid/repo", "x") as store, pytest.raises(UpstreamError):
        store.ensure(V1)
    assert not mark.exists()


def test_tag_that_is_an_option_is_refused_before_git_sees_it() -> None:
    for name in ("--upload-pack=x", "v1.0 --x", "v1.0\n", "v../x", "-1", "v1.0:refs/heads/x"):
        with pytest.raises(UsageError):
            Tag.parse(name)


def test_no_answer(tmp_path: Path, make_repo: Make) -> None:
    with open_store(tmp_path, "git://127.0.0.1:9/x") as store:
        with pytest.raises(UpstreamError, match=r"no answer from .*stored releases: none"):
            store.ensure(V1)
        with pytest.raises(UpstreamError, match="no answer"):
            store.available()
    with open_store(tmp_path, tmp_path / "nowhere") as store, pytest.raises(RebasekitError, match="cannot be read"):
        store.ensure(V1)


def test_password_is_not_shown_or_written(tmp_path: Path) -> None:
    with open_store(tmp_path, "git://user:secret@127.0.0.1:9/x") as store:
        with pytest.raises(UpstreamError) as error:
            store.ensure(V1)
        assert "secret" not in f"{error.value} {error.value.hint}"
        assert "secret" not in (store.root / "source.json").read_text() and "secret" not in str(store.root)


def test_inherited_git_variables_do_not_lead_away(make_repo, tmp_path, monkeypatch) -> None:
    repo = make_repo({"v1.0": ONE})
    other = make_repo({"v1.0": TWO}, "other")
    for name, value in {"GIT_DIR": other / ".git", "GIT_WORK_TREE": other, "GIT_OBJECT_DIRECTORY": other}.items():
        monkeypatch.setenv(name, str(value))
    with open_store(tmp_path, repo) as store:
        store.ensure(V1)
        assert store.tags() == [V1] and set(store.files(V1)) == {"demo/a.py"}


def test_tiny_repositories_are_fast(make_repo, tmp_path) -> None:
    repo = make_repo({"v1.0": ONE, "v2.0": TWO})
    best = 9.0
    for number in range(5):
        start = time.perf_counter()
        with Store.open(tmp_path / str(number), UpstreamSource("git", url=str(repo), prefix="python")) as store:
            store.ensure(V1)
            assert store.read(V1, "demo/a.py")
        best = min(best, time.perf_counter() - start)
    assert best < (1.0 if os.environ.get("CI") else 0.5), best
