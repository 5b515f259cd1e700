# SPDX-License-Identifier: Apache-2.0
"""What docs/ need to be a site: links to other files of the tree lead to the repository that SITE_REPOSITORY names, and are plain words
without it. tools/check_docs.py has checked that these files are there."""

import os
import posixpath
import re

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def outside(page, target):
    """The path from the root of the tree, if the target is in no page of the site."""
    path = target.partition("#")[0]
    if not path or re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    tree = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    return None if tree.startswith("docs/") and tree != "docs/images/make.sh" and not tree.startswith("docs/site/") else tree


def on_page_markdown(markdown, page, **_):
    def lead_out(match):
        tree = outside(page.file.src_uri, match[2])
        if tree is None:
            return match[0]
        repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
        return f"[{match[1]}]({repository}/blob/main/{tree})" if repository else match[1]

    return LINK.sub(lead_out, markdown)
