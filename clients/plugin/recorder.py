"""A pytest plugin that writes one JSON object a line: a test begins, or has its outcome. What a killed process wrote stays."""

import json
import os


def _write(record):
    with open(os.environ["COALESCE_RECORD"], "a") as file:
        file.write(json.dumps(record) + "\n")


def pytest_collection_finish(session):
    _write({"collected": [item.nodeid for item in session.items]})


def pytest_runtest_logstart(nodeid, location):
    _write({"begins": nodeid})


def pytest_collectreport(report):
    if report.failed:
        _write({"test": report.nodeid, "outcome": "failed", "reason": _reason(report)})
    elif report.skipped:
        _write({"test": report.nodeid, "outcome": "skipped", "reason": _reason(report)})


def pytest_runtest_logreport(report):
    # A test is what its body says; setup and teardown count where they do not pass.
    if report.when == "call" or not report.passed:
        _write({"test": report.nodeid, "outcome": report.outcome, "reason": _reason(report)})


def _reason(report):
    if report.passed:
        return ""
    if hasattr(report, "wasxfail"):
        text = f"expected to fail: {report.wasxfail}" if report.wasxfail else "expected to fail"
    elif isinstance(report.longrepr, tuple):
        text = report.longrepr[2]
    elif getattr(report.longrepr, "reprcrash", None):
        text = report.longrepr.reprcrash.message
    else:
        text = report.longreprtext.strip().splitlines()[-1] if report.longreprtext.strip() else ""
    return " ".join(text.removeprefix("Skipped: ").split())[:400]
