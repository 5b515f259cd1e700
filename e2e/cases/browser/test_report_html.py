# SPDX-License-Identifier: Apache-2.0
"""A real browser shows report.html: the pages of the unit test's fixtures, and one of a real death.

The browser has no network and no profile. Pictures and the PDF stay in build/e2e-browser, to be looked at.
"""

import html.parser
import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

import pytest

from browser.axe import DARK, LIGHT, LOOKS, NOTHING, look

ROOT = pathlib.Path(__file__).parents[3]
BUILD = pathlib.Path(os.environ.get("AFTERGLOW_BUILD", ROOT / "build"))
OUT = BUILD / "e2e-browser"
FIXTURES = ["leak", "burst", "crash", "nothing", "hostile"]
DESK, PHONE = (1200, 2600), (390, 2600)


@pytest.fixture(scope="module")
def pages():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    subprocess.run([BUILD / "test/sidecar/report/report_html_test", "--write", OUT], check=True)
    return OUT


@pytest.fixture(scope="module")
def real(pages):
    """A program that leaks into a real memory limit, reported by the real sidecar."""
    store = pages / "store"
    subprocess.run(
        [BUILD / "afterglow-sidecar", "exec", "--memory-max", "128Mi", "--store", store, "--name", "leak", "--",
         BUILD / "test/hog", "1G", "--rate", "100M"],
        check=False, capture_output=True, timeout=180,
    )
    (page,) = store.glob("**/report.html")
    return page


@pytest.fixture
def browse(tmp_path):
    def run(page, *options, fragment=""):
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr", "--v=0", *options, page.resolve().as_uri() + fragment,
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == 0, result.stderr
        # What a page does wrong stands here: refused scripts and styles, resources that are not there.
        assert "CONSOLE" not in result.stderr, result.stderr
        return result.stdout

    return run


def pixels(png):
    """Returns width, height, and rows of (r, g, b). It reads enough of PNG for what Chromium writes (8 bits, no interlace)."""
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, raw = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
            assert depth == 8 and colour in (2, 6)
        elif kind == b"IDAT":
            raw += data[at + 8:at + 8 + length]
        at += length + 12
    size = 3 if colour == 2 else 4
    raw, stride, rows, above = zlib.decompress(raw), width * size, [], bytes(width * size)
    for y in range(height):
        filtered, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - size] if i >= size else 0
            up, corner = above[i], above[i - size] if i >= size else 0
            if filtered == 1:
                add = left
            elif filtered == 2:
                add = up
            elif filtered == 3:
                add = (left + up) // 2
            elif filtered == 4:
                guess = left + up - corner
                add = min((left, up, corner), key=lambda p: abs(guess - p))
            else:
                break
            line[i] = (line[i] + add) & 255
        above = bytes(line)
        rows.append(above)
    return width, height, size, rows


def screenshot(browse, page, name, size, scheme):
    png = OUT / f"{name}.png"
    browse(page, f"--window-size={size[0]},{size[1]}", f"--screenshot={png}", scheme)
    return pixels(png)


def brightness(picture):
    """Returns the brightness of the page's background, taken from the left margin."""
    _, _, _, rows = picture
    return sum(rows[200][:3]) / 3


def colours(picture, rows=slice(None)):
    width, _, size, lines = picture
    found = set()
    for line in lines[rows]:
        found.update(line[x * size:x * size + 3] for x in range(0, width, 2))
    return found


def test_a_desk_in_light_and_dark(browse, pages):
    light = screenshot(browse, pages / "leak.html", "leak-light", DESK, LIGHT)
    dark = screenshot(browse, pages / "leak.html", "leak-dark", DESK, DARK)
    assert brightness(light) > 240
    assert brightness(dark) < 40
    # The layers of the timeline are painted in their colours: heap, object store.
    assert {b"\x3f\x72\xb8", b"\xe0\x8f\x2c"} <= colours(light)
    assert {b"\x5c\x93\xdd", b"\xeb\xa2\x4a"} <= colours(dark)


@pytest.mark.parametrize("name", FIXTURES)
def test_nothing_is_wider_than_a_phone(browse, pages, name):
    """The last column of pixels has only the page's background, so nothing is cut off."""
    width, height, size, rows = screenshot(browse, pages / f"{name}.html", f"{name}-phone", PHONE, LIGHT)
    assert (width, height) == PHONE
    page = rows[5][:3]
    assert {row[(width - 3) * size:(width - 3) * size + 3] for row in rows} == {page}


@pytest.mark.parametrize("name, width, scheme", [*(("leak", *at) for at in LOOKS), *(("crash", *at) for at in (LOOKS[0], LOOKS[-1]))])
def test_everybody_can_read_a_page(browse, pages, tmp_path, name, width, scheme):
    assert look(browse, pages / f"{name}.html", width, scheme, tmp_path) == NOTHING
    screenshot(browse, pages / f"{name}.html", f"{name}-{width}-{scheme}", (width, 2600), LIGHT if scheme == "light" else DARK)


def test_a_page_prints(browse, pages):
    pdf = OUT / "leak.pdf"
    browse(pages / "leak.html", f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    data = pdf.read_bytes()
    assert data.startswith(b"%PDF-")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 6


def test_what_a_container_says_does_not_run(browse, pages):
    dom = browse(pages / "hostile.html", "--dump-dom", "--virtual-time-budget=1000")
    assert "owned</title>" not in dom
    assert "<script" not in dom and "<img" not in dom and "<iframe" not in dom
    assert "&lt;script&gt;" in dom


class Outline(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize("name", FIXTURES)
def test_a_page_loads_nothing(pages, name):
    outline = Outline()
    outline.feed((pages / f"{name}.html").read_text(encoding="utf-8"))
    assert not outline.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}
    for attribute, value in outline.attributes:
        assert attribute not in {"src", "action", "srcset"} and not attribute.startswith("on")
        # Links lead to parts of the page alone.
        assert attribute != "href" or value.startswith("#")
        assert "url(" not in (value or "")


def test_a_real_death(browse, real):
    text = browse(real, "--dump-dom")
    # Without a sample of its last two seconds, or a whole report in the kernel log, it is only likely.
    assert re.search("<h1>leak was (most likely )?killed by the kernel: it reached its memory limit of 128.0 MiB", text)
    assert text.count("<svg") == 2
    picture = screenshot(browse, real, "real", DESK, LIGHT)
    assert b"\x3f\x72\xb8" in colours(picture)
