# SPDX-License-Identifier: Apache-2.0
"""What axe-core finds wrong with a page, and what is wider than its window."""

import functools
import html
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[3]
LIGHT, DARK = "--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"
LOOKS = [(width, scheme) for width in (390, 768, 1400) for scheme in ("light", "dark")]

# The page is in a frame of the width that is asked for: a window of Chromium has at least 500 pixels.
FRAME = """<!doctype html><meta charset="utf-8"><title>frame</title><style>body{margin:0}</style>
<iframe style="border:0;width:%dpx;height:3000px" srcdoc="%s"></iframe><pre id="found"></pre>"""
LOOK = """axe.run(document, {resultTypes: ["violations"]}).then(r => {
  const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll *, .plot") && e.getBoundingClientRect().right > innerWidth + 1);
  parent.document.getElementById("found").textContent = JSON.stringify({width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth, wide: wide.map(e => e.outerHTML.slice(0, 120)),
    violations: r.violations.map(v => [v.id, v.nodes.map(n => [n.target, n.failureSummary])])});
});"""


@functools.cache
def axe():
    return pathlib.Path(subprocess.run([ROOT / "e2e/axe/build.sh"], capture_output=True, text=True, check=True).stdout.strip()).read_text()


def look(browse, page, width, scheme, directory):
    """Returns what a copy of the page, whose policy is taken out, has of violations, and what reaches beyond the right edge."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    text = text.replace("</body>", f"<script>{axe()}</script><script>{LOOK}</script></body>")
    copy = directory / "look.html"
    copy.write_text(FRAME % (width, html.escape(text)), encoding="utf-8")
    dom = browse(copy, "--dump-dom", "--virtual-time-budget=20000", "--window-size=1400,3000", LIGHT if scheme == "light" else DARK)
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1]))
    assert found.pop("width") == width
    return found


NOTHING = {"overflow": 0, "wide": [], "violations": []}
