# SPDX-License-Identifier: Apache-2.0
"""A real browser shows the page of all failures (kubectl afterglow page)."""

import json
import os
import re
import subprocess

import pytest

from browser.axe import DARK, LIGHT, LOOKS, NOTHING, look
from browser.test_report_html import BUILD, browse

__all__ = ["browse"]

OUT = BUILD / "e2e-browser-page"


def failure(number, class_, cluster, **more):
    return {"metadata": {"namespace": "ml", "name": f"failure-{number}"},
            "spec": {"pod": f"worker-{number}", "cluster": cluster, "class": class_, "confidence": "certain" if number % 2 else "likely",
                     "endedAt": f"2026-11-22T11:{number:02}:00Z", "verdict": f"The verdict of number {number}.", "node": f"node-{number % 3}",
                     "signature": f"v1:{class_}:ray::train", "exitCode": 137, **more}}


HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
FAILURES = [*(failure(n, "KernelOOMContainer", "demo", bundle=f"pvc:ray-failures/ml/{n}") for n in range(12)), *(failure(n, "Segfault", "train") for n in range(20, 27)),
            *({**failure(n, "WorkerCrash", "train"), "status": {"incident": "failure-20", "causedBy": {"name": "failure-20"}}} for n in (28, 29)),
            failure(40, "Killed", HOSTILE[:60], pod=HOSTILE, verdict=HOSTILE, signature=f"v1:{HOSTILE}")]


FAILURES[12]["status"] = {"incident": "failure-20", "consequences": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page as the plugin writes it, from the output of a fake kubectl."""
    directory = tmp_path_factory.mktemp("page")
    (directory / "list.json").write_text(json.dumps({"items": FAILURES}))
    kubectl = directory / "kubectl"
    kubectl.write_text(f"#!/bin/sh\ncat {directory}/list.json\n")
    kubectl.chmod(0o755)
    OUT.mkdir(parents=True, exist_ok=True)
    page = OUT / "page.html"
    said = subprocess.run([BUILD / "kubectl-afterglow", "page", page, "-A"], env={**os.environ, "KUBECTL": str(kubectl)}, check=True,
                          capture_output=True, text=True).stdout
    assert said == f"{len(FAILURES)} failures are in {page}\n"
    return page


def shown(dom):
    """Returns the numbers of the failures that are not hidden, and the count that the page shows."""
    rows = re.findall(r'<details data-failure="(\d+)"([^>]*)>', dom)
    said = int(re.search(r'<span id="shown">(\d+)</span>', dom)[1])
    return {int(n) for n, rest in rows if not re.search(r'\shidden(=""|\s|$)', rest)}, said


def test_the_page_shows_all_failures_and_runs_no_script_but_its_own(made, browse):
    dom = browse(made, "--dump-dom")
    assert shown(dom) == (set(range(len(FAILURES))), len(FAILURES))
    assert "<title>Failures</title>" in dom and len(re.findall("<script", dom)) == 1 and "<img" not in dom
    # The script ran: without it the filters stay hidden.
    assert re.search("<form[^>]*>", dom)[0] == "<form>"


@pytest.mark.parametrize("fragment, classes, number", [
    ("#cluster=demo&confidence=certain", {"KernelOOMContainer"}, 6), ("#signature=v1:Segfault:ray::train&text=node-2", {"Segfault"}, 3),
])
def test_filters_hide_the_others_in_the_list_the_groups_and_the_timeline(made, browse, fragment, classes, number):
    dom = browse(made, "--dump-dom", fragment=fragment)
    visible, said = shown(dom)
    assert len(visible) == said == number
    ordered = sorted(FAILURES, key=lambda f: f["spec"]["endedAt"])
    assert {ordered[n]["spec"]["class"] for n in visible} == classes
    dots = re.findall(r"<path ([^>]*data-of[^>]*)>", dom)
    assert len([d for d in dots if not re.search(r'hidden(=""|\s|$)', d)]) == number
    groups = re.findall(r"<tr data-group=\"[^\"]*\"([^>]*)><td>(\d+)</td>", dom)
    assert sum(int(n) for rest, n in groups if "hidden" not in rest) == number


def test_a_chip_takes_its_filter_away_and_one_takes_all(made, browse):
    assert '<div id="chips" aria-live="polite"></div>' in browse(made, "--dump-dom")
    chips = re.search(r'<div id="chips"[^>]*>(.*?)</div>', browse(made, "--dump-dom", fragment="#cluster=demo&text=node-2"), re.S)[1]
    assert re.findall(r"<button[^>]*>([^<]*)</button>", chips) == ["cluster: demo ×", "text: node-2 ×", "Reset"]


def test_consequences_stand_with_their_cause_and_open_where_only_they_match(made, browse):
    dom = browse(made, "--dump-dom", fragment="#class=WorkerCrash")
    assert shown(dom)[1] == 2
    (section,) = [s for s in re.findall(r"<section([^>]*)>", dom) if "hidden" not in s]
    assert re.search(r'<details class="followed" open="">\s*<summary>2 other ends followed', dom), section


def test_times_are_relative_and_commands_have_a_button(made, browse):
    dom = browse(made, "--dump-dom")
    times = re.findall(r'<time datetime="([^"]*)" title="([^"]*)">(\d+ \w+ ago)</time>', dom)
    assert times and all(absolute == title for absolute, title, _ in times)
    with_bundle = [f for f in FAILURES if "bundle" in f["spec"]]
    assert dom.count('class="copy"') == len(with_bundle) > 0


@pytest.mark.parametrize("width, scheme", LOOKS)
def test_everybody_can_read_it(made, browse, tmp_path, width, scheme):
    assert look(browse, made, width, scheme, tmp_path) == NOTHING
    browse(made, f"--screenshot={OUT / f'page-{width}-{scheme}.png'}", f"--window-size={width},1800", LIGHT if scheme == "light" else DARK)
    assert (OUT / f"page-{width}-{scheme}.png").stat().st_size > 20000


def test_what_nobody_can_read_is_found(made, browse, tmp_path):
    """So that the tests above can fail: a copy with pale text, and a line that does not break."""
    bad = tmp_path / "bad.html"
    bad.write_text(made.read_text().replace("--ink:#1c2127", "--ink:#eeeeee").replace("<h1>", '<h1 style="white-space:nowrap">' + "wide " * 99))
    found = look(browse, bad, 390, "light", tmp_path)
    assert found["overflow"] > 0 and "color-contrast" in [rule for rule, _ in found["violations"]]
