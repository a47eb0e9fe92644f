"""The command line: exit codes, messages, colours, start-up, the executables."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rebasekit import cli, commands
from rebasekit.console import Console, wants_color
from rebasekit.errors import PatchsetError, StateError, UpstreamError, UsageError

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line; `raising` replaces `doctor` by a command that fails."""

    def call(*argv, raising=None, doing=None):
        if raising is not None or doing is not None:

            class Fake:
                HELP = "fails"

                @staticmethod
                def add_arguments(parser):
                    pass

                @staticmethod
                def run(args, console):
                    if raising is not None:
                        raise raising
                    return doing(args, console)

            monkeypatch.setattr(commands, "load", lambda verb: Fake)
            argv = argv or ("doctor",)
        code = cli.main(argv)
        return (code, *capsys.readouterr())

    return call


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("no such thing", hint="do it"), 2, "error: no such thing\nhint: do it\n"),
        (PatchsetError("a.toml: key", "is wrong"), 2, "error: a.toml: key: is wrong\n"),
        (UpstreamError("gone"), 4, "error: gone\n"),
        (StateError("full"), 4, "error: full\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x"),
            4,
            "error: `/x`: no space left on device\nhint: rebasekit doctor\n",
        ),
    ],
)
def test_errors_become_exit_codes(run, error, code, message):
    assert run(raising=error) == (code, "", message)


def test_an_interrupt_that_python_wrapped_is_one(run):
    def interrupted(args, console):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    assert run(doing=interrupted) == (130, "", "error: interrupted\n")


def test_a_bug_says_so_and_how_to_see_more(run, monkeypatch):
    code, out, err = run(raising=ValueError("odd\nsecond line"))
    assert (code, out) == (70, "")
    assert err.startswith("error: this is a bug in rebasekit: ValueError: odd\nhint: set REBASEKIT_TRACEBACK=1")
    assert "Traceback" not in err
    monkeypatch.setenv("REBASEKIT_TRACEBACK", "1")
    assert "Traceback" in run(raising=ValueError("odd"))[2]


def test_a_missing_package_is_not_a_bug(run):
    code, _, err = run(raising=ModuleNotFoundError("No module named 'torch.x'", name="torch.x"))
    assert code == 4
    assert "the package `torch` is not installed" in err
    assert "-m pip install rebasekit" in err
    assert "-m pip install 'rebasekit[serve]'" in run(raising=ModuleNotFoundError("no", name="installer.records"))[2]
    assert run(raising=ModuleNotFoundError("no", name="rebasekit.steps.x"))[0] == 70


def test_commands_that_build_nothing_need_no_extra():
    """What the README shows works with what `pip install rebasekit` brings."""
    profile = str(ROOT / "patchset" / "profiles" / "rtx5070x2.toml")
    code = f"""
import sys
for name in ("installer", "github", "httpx", "matplotlib"):
    sys.modules[name] = None
import rebasekit.steps.serve, rebasekit.steps.build_wheel, rebasekit.steps.bot.run, rebasekit.steps.smoke.smoke
from rebasekit.cli import main
sys.exit(main(["-C", {str(ROOT)!r}, "capacity", "--json", "--profile", {profile!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "max_total_num_tokens" in done.stdout


def test_a_broken_pipe_elsewhere_is_a_bug(run):
    if not hasattr(sys.stdout, "fileno"):
        pytest.skip("no file behind standard output")
    code = subprocess.run(
        [sys.executable, "-c", "import sys; from rebasekit import cli, commands\n"
         "class F:\n  HELP=''\n  add_arguments=staticmethod(lambda p: None)\n"
         "  @staticmethod\n  def run(a, c): raise BrokenPipeError(32, 'Broken pipe')\n"
         "commands.load = lambda v: F\nsys.exit(cli.main(['doctor']))"],
        capture_output=True, check=False,
    ).returncode  # fmt: skip
    assert code == 70


def test_a_reader_that_goes_away_is_no_error():
    script = f"set -o pipefail; {sys.executable} -m rebasekit completion bash | head -c 10; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.endswith(("141\n", "0\n"))


def test_control_characters_do_not_reach_the_terminal(run):
    assert "\x1b" not in run(raising=UsageError("bad `\x1b[2J`"))[2]


@pytest.mark.parametrize("typed", ["rebsae", "rebas", "Rebase"])
def test_unknown_command_gets_the_closest(run, typed):
    code, out, err = run(typed)
    assert (code, out) == (2, "")
    assert err == f"error: there is no command `{typed}`\nhint: rebasekit rebase\n"


def test_usage_errors(run):
    assert run("rebase") == (
        2,
        "",
        "error: the following arguments are required: TAG\nhint: rebasekit rebase --help\n",
    )
    assert run("--colour", "never")[0] == 2
    assert run("doctor", "--color", "pink")[0] == 2
    code, out, err = run()
    assert (code, err) == (2, "")
    assert "usage: rebasekit" in out


def test_help_of_every_command_has_an_example(run):
    listed = run("--help")[1]
    for verb in commands.names():
        code, out, err = run(verb, "--help")
        assert (code, err) == (0, "")
        assert f"usage: rebasekit {verb}" in out
        assert "example:" in out, verb
        assert f"\n    {verb} " in listed


def test_only_commands_that_exist_are_listed(run):
    listed = run("--help")[1]
    folder = ROOT / "tools" / "rebasekit" / "commands"
    for verb in ("reach", "survive", "unbound", "defaults", "churn"):
        assert (f"\n    {verb} " in listed) == (folder / f"{verb}.py").exists()


@pytest.mark.parametrize(
    ("argv", "verb"),
    [
        (["-C", "rebase", "doctor"], "doctor"),
        (["--color", "never", "list"], "list"),
        (["--color=never", "-qv", "list", "rebase"], "list"),
        (["--help", "rebase"], None),
        ([], None),
        (["-v"], None),
    ],
)
def test_find_verb(argv, verb):
    assert cli.find_verb(argv) == verb


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("rebase", "v1.0.0", "--frm", "v0.9.0"), "`rebase` has no option `--frm`\nhint: use `--from`"),
        (("list", "--jsn=x"), "`list` has no option `--jsn`\nhint: use `--json`"),
        (("rebase", "v1.0.0", "more"), "`rebase` has no use for `more`\nhint: rebasekit rebase --help"),
        (("show", "x", "--zzz"), "`show` has no option `--zzz`\nhint: rebasekit show --help"),
        (("--zzz",), "there is no option `--zzz`\nhint: rebasekit --help"),
    ],
)
def test_what_a_command_does_not_take(run, argv, words):
    code, out, err = run(*argv)
    assert (code, out, err) == (2, "", f"error: {words}\n")


def test_global_options_stand_before_and_after(run):
    def keep(args, console):
        console.line(f"{args.patchset} {args.quiet} {args.verbose} {args.color}")
        return 0

    assert run("-C", "a", "-q", "doctor", doing=keep)[1] == "a True 0 auto\n"
    assert run("doctor", "-C", "a", "-vv", "--color=never", doing=keep)[1] == "a False 2 never\n"


def test_bare_json_never_eats_a_name():
    assert cli._normalised(["show", "--json", "NAME"], "show") == ["show", "--json=-", "NAME"]
    assert cli._normalised(["show", "NAME", "--json", "-"], "show") == ["show", "NAME", "--json=-"]
    assert cli._normalised(["rebase", "--json", "FILE", "v1"], "rebase") == ["rebase", "--json", "FILE", "v1"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("env", "choice", "terminal", "pipe"),
    [
        ({}, "auto", True, False),
        ({"NO_COLOR": "1"}, "auto", False, False),
        ({"NO_COLOR": ""}, "auto", True, False),
        ({"CLICOLOR_FORCE": "1"}, "auto", True, True),
        ({"CLICOLOR_FORCE": "0"}, "auto", True, False),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, "auto", False, False),
        ({"TERM": "dumb"}, "auto", False, False),
        ({"NO_COLOR": "1"}, "always", True, True),
        ({"CLICOLOR_FORCE": "1"}, "never", False, False),
    ],
)
def test_colours(monkeypatch, env, choice, terminal, pipe):
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert wants_color(Terminal(), choice) is terminal
    assert wants_color(io.StringIO(), choice) is pipe


def test_no_escapes_in_a_pipe_from_rich(monkeypatch):
    from rich.text import Text

    for stream, choice, escapes in ((io.StringIO(), "auto", False), (io.StringIO(), "always", True)):
        monkeypatch.setattr(sys, "stdout", stream)
        console = Console()
        console.configure(color=choice)
        console.show(Text("x", style="bold red"))
        assert ("\x1b" in stream.getvalue()) is escapes


def test_machine_output_to_a_file_is_whole_or_nothing(tmp_path):
    target = tmp_path / "report.json"
    target.write_text("old")
    Console().machine(str(target), "{}")
    assert target.read_text() == "{}\n"
    with pytest.raises(OSError, match="No such file"):
        Console().machine(str(tmp_path / "none" / "x"), "{}")
    Console().machine(os.devnull, "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_quick_work_shows_nothing_and_slow_work_one_line(capsys, monkeypatch):
    import time

    from rebasekit import bars

    monkeypatch.setattr(bars, "_PATIENCE", 0.05)
    console = Console()
    with console.task("quick", 2, "files") as task:
        task.advance()
    assert capsys.readouterr().err == ""
    with console.task("slow", 12_345_678, "bytes") as task:
        time.sleep(0.2)
        task.advance(100)
    assert capsys.readouterr().err == "slow (12.3 MB) …\n"
    console.configure(quiet=True)
    with console.task("slow", 2, "files") as task:
        time.sleep(0.1)
        task.advance()
    assert capsys.readouterr().err == ""


def test_amounts():
    from rebasekit.bars import amount

    assert amount(1_200_000, 55_200_000, "bytes") == "1.2/55.2 MB"
    assert amount(12, 617, "files") == "12/617 files"
    assert amount(12, None, "files") == "12 files"
    assert amount(0, None, "bytes") == "0 B"


# --- processes: what starts how fast, and with what on sys.path


def test_version_loads_next_to_nothing():
    code = "import sys; from rebasekit.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == "rebasekit 0.1.0"
    loaded = set(modules.split())
    assert not loaded & {"rich", "git", "tomlkit", "packaging", "subprocess", "rebasekit.commands.rebase"}


def launch(tmp_path, verb, source, *argv, python=sys.executable, flags=()):
    """Run an executable of `tools/` in a copy where `verb` is a command."""
    tools = tmp_path / "tools"
    package = tools / "rebasekit"
    if not package.exists():
        tools.mkdir()
        import shutil

        shutil.copytree(ROOT / "tools" / "rebasekit", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "commands" / f"{verb}.py").write_text(source)
    script = tools / verb
    script.write_bytes((ROOT / "tools" / "reach").read_bytes())
    script.chmod(0o755)
    return subprocess.run([python, *flags, str(script), *argv], capture_output=True, text=True, check=False)


COMMAND = """
HELP = "print sys.path"
EXAMPLE = "x"
def add_arguments(parser): parser.add_argument("name", nargs="?")
def run(args, console):
    import sys, rebasekit
    print(*sys.path, sep="\\n"); print("from", rebasekit.__file__, args.name)
    return 3
"""


def test_executables_run_their_command_without_tools_on_the_path(tmp_path):
    done = launch(tmp_path, "pathprint", COMMAND, "NAME")
    assert (done.returncode, done.stderr) == (3, "")
    *path, last = done.stdout.splitlines()
    assert last == f"from {tmp_path}/tools/rebasekit/__init__.py NAME"
    assert str(tmp_path / "tools") not in path
    assert launch(tmp_path, "pathprint", COMMAND, "--help").stdout.startswith("usage: tools/pathprint")


def test_executables_find_an_environment_with_the_dependencies(tmp_path):
    bare = launch(tmp_path, "pathprint", COMMAND, flags=("-S",))
    assert bare.returncode in (3, 4)  # without any environment it runs, or says what is missing
    home = tmp_path / ".venv"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").write_text(f'#!/bin/sh\necho switched >&2\nexec {sys.executable} "$@"\n')
    (home / "bin" / "python").chmod(0o755)
    (home / "lib" / "python3.11" / "site-packages" / "tomlkit").mkdir(parents=True)
    done = launch(tmp_path, "pathprint", COMMAND, flags=("-S",))
    assert (done.returncode, done.stderr) == (3, "switched\n")


def test_a_question_ends_with_its_answer(tmp_path):
    source = COMMAND.replace("    print(", "    import atexit; atexit.register(print, 'taken down'); print(", 1)
    told, asked = launch(tmp_path, "pathprint", source, "NAME"), launch(tmp_path, "reach", source, "NAME")
    assert told.stdout.splitlines()[-1] == "taken down"
    assert asked.stdout.splitlines()[-1].startswith("from ")
    assert (asked.returncode, asked.stderr) == (3, "")


def test_a_question_says_that_its_answer_could_not_be_written(tmp_path):
    launch(tmp_path, "reach", COMMAND)
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, tmp_path / "tools" / "reach"]
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, env=buffered)
    assert done.returncode not in (0, 3)
    assert b"space left" in done.stderr and b"Traceback" not in done.stderr


def test_all_executables_are_the_same():
    scripts = [path for path in (ROOT / "tools").iterdir() if path.is_file()]
    assert {path.read_bytes() for path in scripts} == {(ROOT / "tools" / "reach").read_bytes()}
    assert all(os.access(path, os.X_OK) for path in scripts)


def test_kernels_is_not_importable():
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('kernels') is not None)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False, cwd="/").returncode == 0


# --- real terminals and signals

SLOW = """
import sys, time
from rebasekit import cli, commands
class Slow:
    HELP = "is slow"
    @staticmethod
    def add_arguments(parser): pass
    @staticmethod
    def run(args, console):
        with console.task("fetching [x]", 40, "files") as task:
            print("ready", flush=True)
            for step in range(40):
                time.sleep(SECONDS)
                task.advance()
                if step == 30: console.warning("odd")
        return 0
commands.load = lambda verb: Slow
sys.exit(cli.main(["doctor"]))
"""


def test_a_bar_on_a_terminal_goes_away_when_done():
    import pty

    ours, theirs = pty.openpty()
    code = SLOW.replace("SECONDS", "0.025")
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    done = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=env)
    out, _ = done.communicate(timeout=20)
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 65536)
        except OSError:  # Linux: nobody has the other end open any more
            break
    os.close(ours)
    assert (done.returncode, out) == (0, b"ready\n")
    assert b"fetching [x]" in text
    assert b"/40 files" in text
    assert b"warning: odd" in text
    assert text.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h"))


def test_ctrl_c_ends_with_130_and_one_line():
    import signal

    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.replace("SECONDS", "1")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, "error: interrupted\n")
