# SPDX-License-Identifier: Apache-2.0
"""Scores kept in a file, so that a run that was cut short goes on where it ended."""
import json

from truth import HONEST, RIGHT


class Results:
    """A line for each score, in the order in which they came; of two lines of the same death the last one counts."""

    def __init__(self, path):
        self.path = path
        self.rows = {}
        if path and path.exists():
            text = path.read_text()
            if text and not text.endswith("\n"):
                # A run that was killed may leave half a line, which the next one is not to continue.
                path.write_text(text + "\n")
            for line in text.splitlines():
                row = _parse(line)
                if row:
                    self.rows[row["kernel"], row["log"], row["name"]] = row

    def settled(self, kernel, log, name):
        """Its row if it was right or honest, else None: what was wrong or did not run is brought about again."""
        row = self.rows.get((kernel, log, name))
        return row if row and row["score"] in (RIGHT, HONEST) else None

    def add(self, kernel, log, name, score, certain, why):
        row = {"kernel": kernel, "log": log, "name": name, "score": score, "certain": certain, "why": why}
        self.rows[kernel, log, name] = row
        if self.path:
            with self.path.open("a") as f:
                f.write(json.dumps(row) + "\n")


def _parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return None
