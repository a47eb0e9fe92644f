"""Build and smoke in a pull request: tables of what ran, and lines about what did not work."""

from __future__ import annotations

from rebasekit.report.fitting import Section
from rebasekit.report.markdown import cell, code, escape, prose
from rebasekit.steps.bot.trials import BuildResult, Trials
from rebasekit.steps.smoke.result import Constructed, Effect, Smoke

_MOST = 20  # lines about one kind of failure


def trouble_lines(tried: Trials) -> list[str]:
    """One line per thing that failed or could not run."""
    lines = [f"- {note.what} could not run: {prose(note.text)}" for note in tried.notes if note.failed]
    if tried.build is not None and not tried.build.ok:
        lines += [f"- build: {line}" for line in _build_lines(tried.build)]
    if tried.smoke is not None and not tried.smoke.ok:
        lines += [f"- smoke: {line}" for line in _smoke_lines(tried.smoke)]
    return lines


def _build_lines(build: BuildResult) -> list[str]:
    lines = [escape(text) for text in build.findings[:_MOST]]
    lines += [f"{code(module)} cannot be imported: {escape(error)}" for module, error in build.imports[:_MOST]]
    for tests in build.tests:
        lines += [f"{code(tests.patch)}: {code(name)} failed" for name in tests.failed[:_MOST]]
        if not tests.failed and not tests.passed:
            lines.append(f"{code(tests.patch)}: no test ran")
    return lines or ["it failed"]


def _smoke_lines(smoke: Smoke) -> list[str]:
    lines = [
        f"{code(f'{step.launch}: {step.step}'.removeprefix(': '))}: {escape(step.text)}"
        for step in smoke.steps
        if step.outcome == "FAIL"
    ]
    lines += [f"{code(effect.hunk)}: {prose(effect.problem)}" for effect in smoke.effects if effect.problem]
    lines += [f"{code(each.name)} was never built" for each in smoke.constructed if not each.ok]
    return lines[:_MOST]


def build_section(tried: Trials) -> list[Section | str]:
    """The wheel and the patches' tests, or why there is none."""
    build = tried.build
    if build is None:
        return _absent(tried, "build", "Build")
    rows = [f"| {cell(t.patch)} | {t.passed} | {len(t.failed)} | {t.skipped} |" for t in build.tests]
    words = f"{'ok' if build.ok else '**FAIL**'}: {code(build.wheel)}, installed and compared file by file"
    head = f"{words}\n\n| patch | passed | failed | skipped |\n| --- | ---: | ---: | ---: |\n"
    return [Section("Build", rows, head=head, share=0.1)] if rows else [f"#### Build\n\n{words}"]


def smoke_sections(tried: Trials) -> list[Section | str]:
    """Steps of all launches, then what ran of each hunk, then the classes that were built."""
    smoke = tried.smoke
    if smoke is None:
        return _absent(tried, "smoke", "Smoke")
    versions = ", ".join(f"{name} {version}" for name, version in smoke.versions.items())
    what = f"{smoke.ranks} ranks on {smoke.device}, kernels: {smoke.kernels}, model: {smoke.model}"
    words = f"{'ok' if smoke.ok else '**FAIL**'}: {escape(what)}. {escape(versions)}"
    steps = [
        f"| {'**FAIL**' if s.outcome == 'FAIL' else escape(s.outcome)} | {cell(s.launch)} | {cell(s.step)} "
        f"| {escape(s.text)} | {s.seconds:.0f} s |"
        for s in smoke.steps
    ]
    head = f"{words}\n\n| | launch | step | what | time |\n| --- | --- | --- | --- | ---: |\n"
    found: list[Section | str] = [Section("Smoke", steps, head=head, share=0.2)]
    if smoke.effects:
        found.append(_effects(smoke.effects))
    if smoke.constructed:
        rows = [_built(each) for each in smoke.constructed]
        head = "| class | built | needed by |\n| --- | --- | --- |\n"
        found.append(Section("Classes that hunks need to be built", rows, head=head, share=0.1))
    return found


def _effects(effects: tuple[Effect, ...]) -> Section:
    roles = sorted({role for effect in effects for role in effect.ranks})
    rows = [
        f"| {cell(e.hunk)} | {escape(e.state)} | {e.ran}/{e.lines} | "
        + "".join(f"{escape(e.ranks.get(role, ''))} | " for role in roles)
        + f"{escape(e.problem or (f'idle: {e.idle}' if e.idle else ''))} |"
        for e in effects
    ]
    head = "| hunk | state | lines | " + "".join(f"{escape(role)} | " for role in roles) + "why |\n"
    head += "| --- |" * 1 + " --- |" * (3 + len(roles)) + "\n"
    ran = sum(1 for effect in effects if effect.state == "ran")
    return Section("What ran of each hunk", rows, head=head, share=0.2, fold=f"{ran} of {len(effects)} hunks ran")


def _built(each: Constructed) -> str:
    built = "; ".join(f"{role}: {', '.join(names)}" for role, names in sorted(each.built.items())) or "never"
    return f"| {cell(each.name)} | {escape(built)} | {cell(', '.join(each.hunks))} |"


def _absent(tried: Trials, what: str, title: str) -> list[Section | str]:
    why = next((note.text for note in tried.notes if note.what == what), "")
    return [f"#### {title}\n\nNot run: {prose(why[:2000])}"] if why else []
