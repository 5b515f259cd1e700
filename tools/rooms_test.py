#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms.py finds a circle of rooms and an include that leads out of a program, and counts lines of code."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import rooms

FILES = {
    "lib/err.h": "int err_set(void);\n",
    "operator/kube/client.h": '#include "lib/err.h"\n',
    "operator/cache/store.c": '#include <errno.h>\n#include "operator/kube/client.h"\n',
    "operator/kube/client_test.c": '#include "operator/cache/store.h"\n',
    "operator/kube/testing.h": '#include "operator/none.h"\n',
    "operator/main.c": '#include "operator/kube/client.h"\n',
    "sidecar/exec.c": '#include "lib/err.h"\n',
}


def run(files):
    """Returns the status and what it prints."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return rooms.main([folder]), printed.getvalue()


class Rooms(unittest.TestCase):
    def test_a_house_without_mistakes_is_printed_from_the_ground_up(self):
        self.assertEqual(run(FILES), (0, "lib:\noperator/kube: lib\noperator: operator/kube\noperator/cache: operator/kube\nsidecar: lib\n"
                                         "0.0 % of the functions share their name, 0.0 % have a short one\n"
                                         "0 places wait for an errand:\n"
                                         f"6 lines of code, at most {rooms.LINES_MAX}\n"))

    def test_each_mistake_is_named_with_its_file(self):
        table = [
            ({"operator/kube/a.c": '#include "operator/cache/store.h"\n', "operator/cache/store.h": ""},
             "a circle of rooms: operator/cache includes operator/kube (operator/cache/store.c); "
             "operator/kube includes operator/cache (operator/kube/a.c)"),
            # A circle by way of a third room.
            ({"lib/loop/a.h": '#include "lib/digest/b.h"\n', "lib/digest/b.h": '#include "lib/err.h"\n',
              "lib/err.h": '#  include "lib/loop/a.h"\n'},
             "a circle of rooms: lib includes lib/loop (lib/err.h); lib/digest includes lib (lib/digest/b.h); "
             "lib/loop includes lib/digest (lib/loop/a.h)"),
            ({"lib/a.c": '#include "operator/kube/client.h"\n', "operator/kube/client.h": ""},
             "lib/a.c includes operator/kube/client.h: lib includes no program, and a program no other"),
            ({"sidecar/a.def": '#include "operator/kube/client.h"\n'},
             "sidecar/a.def includes operator/kube/client.h: lib includes no program, and a program no other"),
            ({"node/a.c": '#include "node/b.h"\n'}, "node/a.c includes node/b.h, which is not there"),
        ]
        for files, mistake in table:
            status, printed = run({**FILES, **files})
            self.assertEqual(status, 1)
            self.assertIn(mistake, printed.splitlines())

    def test_modules_that_include_each_other_are_printed(self):
        knot = {"node/a.h": "", "node/a.c": '#include "node/b.h"\n', "node/b.h": '#include "node/a.h"\n'}
        self.assertIn("knot of 2 modules: node/a node/b\n", run(knot)[1])
        one = {"node/a.c": '#include "node/a_internal.h"\n', "node/a_internal.h": '#include "node/a.h"\n', "node/a.h": ""}
        self.assertNotIn("knot", run(one)[1])

    def test_a_knot_is_a_mistake(self):
        knot = {"node/a.h": "", "node/a.c": '#include "node/b.h"\n', "node/b.h": '#include "node/a.h"\n'}
        status, printed = run(knot)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "1 knots of modules, more than KNOTS_MAX of tools/rooms.py"))

    def test_names_that_grep_does_not_find_are_counted(self):
        row = "static int row_find(const char *a,\n\t\tint b)\n{\n}\n"
        house = {"node/a.c": row + "int find(void)\n{\n}\nint main(void)\n{\n}\n", "node/b.c": row + "int main(void)\n{\n}\n",
                 "node/b.h": "int find(void);\n", "node/b_test.c": "int find(void)\n{\n}\n"}
        status, printed = run(house)
        self.assertIn("66.7 % of the functions share their name, 33.3 % have a short one\n", printed)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "33.3333 percent of short names, more than SHORT_MAX of tools/rooms.py"))
        with unittest.mock.patch.multiple(rooms, SHARED_MAX=70, SHORT_MAX=40):
            self.assertEqual(run(house)[0], 0)

    def test_a_header_that_only_tests_include_is_theirs(self):
        world = {"node/world.h": "int a;\n", "node/a_test.c": '#include "node/world.h"\n'}
        self.assertIn("\n0 lines of code", "\n" + run(world)[1])
        self.assertIn("2 lines of code", run({**world, "node/a.c": '#include "node/world.h"\n'})[1])

    def test_lines_of_code_are_counted_without_comments_and_blanks(self):
        table = [
            ("", 0), ("\n \n", 0), ("int a;\n\nint b;", 2), ("/* a\n * b\n */\nint a; /* c\n */\n// d\n", 1),
            ('const char *a = "/*";\nint b; /* "\n*/\n', 2), ("char a = '\"'; /*\n\n*/\nchar b = '\"';", 2), ('"\\"/*"\n"*/"', 2),
        ]
        for text, n in table:
            self.assertEqual(rooms.lines_of(text), n, text)

    def test_a_place_that_waits_for_an_errand_is_a_mistake(self):
        waits = {"node/a.c": "/* One\n * errand_wait(e, 1, f) */\nerrand_call(&e, f, a, out, size, MAX);\nerrand_wait(&o->e, 0, f, a);\n",
                 "lib/errand.c": "errand_wait(e, within_ns, f, a);\n", "node/a_test.c": "errand_wait(&e, 1, f, a);\n"}
        self.assertIn("\n1 places wait for an errand: node/a.c:3\n", run(waits)[1])
        with unittest.mock.patch.object(rooms, "WAITS_MAX", 0):
            status, printed = run(waits)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "1 places that wait for an errand, more than WAITS_MAX of tools/rooms.py"))

    def test_more_lines_than_there_may_be_are_a_mistake(self):
        with unittest.mock.patch.object(rooms, "LINES_MAX", 5):
            status, printed = run(FILES)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "6 lines of code, more than LINES_MAX of tools/rooms.py"))


if __name__ == "__main__":
    unittest.main()
