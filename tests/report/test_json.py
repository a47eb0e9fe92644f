"""The JSON report keeps its documented shape."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from report_verdicts import FULL, finding, placement, verdict

from rebasekit.model.placement import Outcome
from rebasekit.report import as_json
from rebasekit.report.report import Report

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())


@pytest.mark.parametrize(
    "made", [FULL, verdict(), verdict(placement("p/one")), verdict(placement("p/x", Outcome.MISSING))]
)
def test_validates(made):
    document = json.loads(as_json.render(Report.of(made)))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_schema_lists_every_placement():
    assert SCHEMA["$defs"]["placement"]["enum"] == [outcome.value for outcome in Outcome]


def test_promised_keys():
    document = as_json.document(Report.of(FULL))
    assert {"schema", "tag", "from", "exit", "hunks", "findings"} <= document.keys()
    first = document["hunks"][0]
    assert {"patch", "id", "file", "scope", "placement", "decision", "findings"} <= first.keys()
    assert {"kind", "file", "line", "message", "next"} <= first["findings"][0].keys()
    assert (document["exit"], document["from"], document["tag"]) == (3, "v0.5.19", "v0.5.20")


def test_ascii_whatever_the_text():
    text = as_json.render(Report.of(verdict(findings=(finding(message="naïve \udcff \x1b[31m"),))))
    assert text.isascii()
    assert "\x1b" not in text
