# SPDX-License-Identifier: Apache-2.0
"""A real browser shows the page of all failures (kubectl afterglow page)."""

import json
import os
import re
import subprocess

import pytest

from browser.test_report_html import BUILD, browse

__all__ = ["browse"]

OUT = BUILD / "e2e-browser-page"


def failure(number, class_, cluster, **more):
    return {"metadata": {"namespace": "ml", "name": f"failure-{number}"},
            "spec": {"pod": f"worker-{number}", "cluster": cluster, "class": class_, "confidence": "certain" if number % 2 else "likely",
                     "endedAt": f"2026-11-22T11:{number:02}:00Z", "verdict": f"The verdict of number {number}.", "node": f"node-{number % 3}",
                     "signature": f"v1:{class_}:ray::train", "exitCode": 137, **more}}


HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
FAILURES = [*(failure(n, "KernelOOMContainer", "demo") for n in range(12)), *(failure(n, "Segfault", "train") for n in range(20, 27)),
            failure(40, "Killed", HOSTILE[:60], pod=HOSTILE, verdict=HOSTILE, signature=f"v1:{HOSTILE}")]


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
    assert "<title>Failures of Ray clusters</title>" in dom and len(re.findall("<script", dom)) == 1 and "<img" not in dom
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
    dots = re.findall(r"<circle ([^>]*)>", dom)
    assert len([d for d in dots if not re.search(r'hidden(=""|\s|$)', d)]) == number
    groups = re.findall(r"<tr data-group=\"[^\"]*\"([^>]*)><td>(\d+)</td>", dom)
    assert sum(int(n) for rest, n in groups if "hidden" not in rest) == number


def test_pictures_of_it_stay_to_be_looked_at(made, browse):
    for name, size in (("desk", "1200,1600"), ("phone", "390,1600")):
        browse(made, f"--screenshot={OUT / f'page-{name}.png'}", f"--window-size={size}")
        assert (OUT / f"page-{name}.png").stat().st_size > 20000
