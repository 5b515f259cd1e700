#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages that man.sh makes from the help of a program."""
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = r"""#!/bin/sh
case $* in
--version) echo 'kubectl-afterglow 1.2.3' ;;
--help) cat <<'END'
usage: kubectl afterglow COMMAND [OPTION...]
Lists failures.

  list           list failures, the newest last
  release POD    end what is held: a RayPolicy

`kubectl afterglow COMMAND --help` says more.
END
;;
*) cat <<END
usage: kubectl afterglow $1 [OPTION...]
.so /etc/passwd is no request, a \n no escape
'br is none

  -o, --output FORMAT    json or yaml
      --store DIR        .bundles below DIR
                         and more of them
END
esac
"""
REQUESTS = (".TH ", ".SH ", ".TP", ".B ", ".BR ", '.\\" ')


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        program = pathlib.Path(folder.name, "program")
        program.write_text(PROGRAM, encoding="utf-8")
        subprocess.run([pathlib.Path(__file__).parent / "man.sh", folder.name, "sh", program], check=True)
        cls.pages = {page.name: page.read_text(encoding="utf-8") for page in pathlib.Path(folder.name).glob("*.1")}

    def test_the_program_and_each_command_have_a_page(self):
        self.assertEqual(["kubectl-afterglow-list.1", "kubectl-afterglow-release.1", "kubectl-afterglow.1"], sorted(self.pages))

    def test_the_page_of_a_command_has_all_of_its_options(self):
        page = self.pages["kubectl-afterglow-release.1"]
        for part in (
            '.TH kubectl\\-afterglow\\-release 1 "" "afterglow 1.2.3"',
            ".SH NAME\nkubectl\\-afterglow\\-release \\- end what is held: a RayPolicy\n",
            ".SH SYNOPSIS\n.B kubectl afterglow release [OPTION...]\n.SH DESCRIPTION\n",
            ".SH OPTIONS\n.TP\n.B \\-o, \\-\\-output FORMAT\njson or yaml\n.TP\n.B \\-\\-store DIR\n\\&.bundles below DIR\nand more of them\n.SH",
            ",\n.BR kubectl\\-afterglow (1)\n",
        ):
            self.assertIn(part, page)

    def test_the_page_of_the_program_names_all_commands(self):
        page = self.pages["kubectl-afterglow.1"]
        self.assertIn(".SH COMMANDS\n.TP\n.B list\nlist failures, the newest last:\n.BR kubectl\\-afterglow\\-list (1)\n.TP\n", page)
        self.assertTrue(page.endswith(".SH SEE ALSO\n.BR kubectl (1)\n"))
        self.assertNotIn("says more", page)

    def test_no_text_of_the_help_is_a_request(self):
        for page in self.pages.values():
            for line in page.splitlines():
                self.assertTrue(line[0] not in ".'" or line.startswith(REQUESTS), line)
        self.assertIn("\n\\&.so /etc/passwd is no request, a \\en no escape\n\\&'br is none\n", self.pages["kubectl-afterglow-list.1"])


if __name__ == "__main__":
    unittest.main()
