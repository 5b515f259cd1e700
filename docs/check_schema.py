#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_schema.py FILE...: whether each report.json is what docs/report.schema.json says.

Prints one line per file and each difference; exits 1 if there is one, 2 without
files. Needs the jsonschema package (PyPI, or Debian's python3-jsonschema).
"""
import json
import pathlib
import sys

import jsonschema


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def main(files):
    if not files:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    schema = json.loads((pathlib.Path(__file__).parent / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for name in files:
        try:
            # Strict UTF-8, and no NaN: neither is JSON.
            report = json.loads(pathlib.Path(name).read_bytes().decode(), parse_constant=refuse)
            errors = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(report)]
        except (OSError, ValueError) as e:
            errors = [str(e)]
        print(f"{'wrong' if errors else 'ok'} {name}")
        for error in errors:
            print(f"  {error}")
        wrong += bool(errors)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
