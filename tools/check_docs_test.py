#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py finds what is wrong, and says nothing of what is right."""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import check_docs

FILES = {
    "sidecar/options.c": '"  --spool-max SIZE  keep no more\\n"',
    "operator/kube/metrics.def": 'METRIC(A, "gauge", "afterglow_pods", "Pods")',
    "operator/policy/policy_keys.def": 'POLICY_KEY(RECORDING, "enabled", "recording.enabled", BOOLEAN, x, 0, 0, "true or false")',
    "charts/afterglow/values.yaml": "# top\nmanageRayClusters: false\nstore:\n  type: claim\n  keep:\n    days: 0\nresources: {}\n",
    "Makefile": ".PHONY: all demo\nall: x\n",
    "plugin/commands.def": '#define A "  -n, --namespace NAME\\n"\nCOMMAND(LIST, "list", 0, 0,\nCOMMAND(SHOW, "show", 1, 1,\n',
    "sidecar/record/hooks.h": "#define HOOKS_MAX 8 /* each */\n#define OUTPUT_MAX ((size_t)64 << 10)\n",
    "docs/limits.md": "| a | 8 | `sidecar/record/hooks.h` `HOOKS_MAX` |\n| b | 64 KiB | `sidecar/record/hooks.h` `OUTPUT_MAX` |\n",
    "docs/policies.md": "| `recording.enabled` | true |",
    "e2e/cluster/go.mod": "require (\n\tk8s.io/kubernetes v1.37.2\n)\n",
    "e2e/cluster/helm/go.mod": "require helm.sh/helm/v3 v3.22.0 // indirect\n",
    "docs/support.md": "| | tested | expected |\n| Kubernetes | 1.37 (a real one) | 1.25 |\n| Helm | 3.22.0 | |\n",
    "lib/hooks_test.c": "static void what_is_right_is_not_told(void **state)\n{\n",
    "docs/other.md": "# A heading, with `code`\n\n# Twice\n# Twice\n",
}
RIGHT = ["[a](docs/other.md)", "[a](docs/other.md#a-heading-with-code)", "[a](docs/other.md#twice-1)", "[a](docs)", "[a](https://x.example/y)",
         "`[a](none.md)`", "`--spool-max 1Gi`", "`afterglow-sidecar exec --spool-max 1 -- ls --all`", "`--memory`", "`store.type`", "`store.keep.*`",
         "`store.type=s3`", "`resources.limits`", "`recording.enabled`", "`manageRayClusters=true`", "`spec.suspend`", "`memory.events`",
         "helm install --set store.keep.days=3", "`afterglow_pods{a=\"b\"}`", "`make demo`",
         "`sidecar/record/hooks.h`", "`sidecar/record/`", "`plugin`", "`other/folder`", "`node/REASON in words`",
         "`what_is_right_is_not_told`",
         "    $ afterglow-sidecar exec --spool-max 1 -- ls --all", "    kubectl afterglow show POD --namespace ml   # not --this",
         "    make all demo", "    make X=1 tea", "    kubectl delete --cascade", "`kubectl afterglow list`"]
WRONG = ["[a](docs/none.md)", "[a](docs/other.md#none)", "[a](#none)", "`--spool-min`", "`afterglow-sidecar --memory`", "`store.typo`", "`store.keep.weeks`",
         "`recording.disabled`", "`manageRayCluster=true`", "helm install --set store.typo=1", "`afterglow_nodes`", "`make tea`",
         "`sidecar/record/hook.h`", "`operator/none`",
         "`what_is_wrong_is_not_told`",
         "    afterglow-sidecar exec --memory 1", "    kubectl afterglow shwo POD", "    kubectl afterglow show POD \\\n    --space ml",
         "```\nmake tea\n```", "`kubectl afterglow lits`"]


class Documents(unittest.TestCase):
    def mistakes(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, content in {**FILES, "README.md": text}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            checker = check_docs.Checker(root)
            for path in check_docs.documents(root):
                checker.check(path)
            checker.check_policies()
            checker.check_limits()
            checker.check_support()
            return checker.mistakes

    def test_nothing_is_said_of_what_is_right(self):
        for text in RIGHT:
            self.assertEqual(self.mistakes(text), [], text)

    def test_each_mistake_is_found_with_its_place(self):
        for text in WRONG:
            found = self.mistakes(f"First line.\n{text}\n")
            self.assertEqual(len(found), 1, text)
            self.assertRegex(found[0], "^README.md:[23]: ")

    def test_a_field_of_policies_that_the_page_lacks_is_found(self):
        with unittest.mock.patch.dict(FILES, {"docs/policies.md": "# Policies\n"}):
            self.assertEqual(self.mistakes(""), [
                "docs/policies.md: `recording.enabled` of operator/policy/policy_keys.def is not there"])

    def test_a_page_that_the_list_of_pages_or_the_site_lacks_is_found(self):
        pages = {"docs/README.md": "[x](other.md) [x](limits.md#a)", "docs/site/mkdocs.yml": "nav:\n- README.md\n- More: [other.md, limits.md]\n"}
        self.assertEqual(self.index_of(pages), [])
        for file, words in (("docs/README.md", "(other.md)"), ("docs/site/mkdocs.yml", "other.md, ")):
            self.assertEqual(self.index_of({**pages, file: pages[file].replace(words, "another.md")}), [f"{file}: other.md is not there"])

    def index_of(self, pages):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {"docs/other.md": "", "docs/limits.md": "", **pages}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            checker = check_docs.Checker(root)
            checker.check_index()
            return checker.mistakes

    def test_each_claim_of_the_page_on_security_names_a_test_that_is_there(self):
        files = {"lib/hooks_test.c": "static void it_is_so(void **state)\n", "e2e/kernel/loop.c": "", "e2e/cases/test_it.py": ""}
        for proof, mistakes in {
            "`it_is_so`": [], "`lib/hooks_test.c`": [], "`e2e/cases/test_it.py`": [], "`build/test/loop`": [],
            "no words": ['"It can." names no test'], "`lib/hooks.c`": ['"It can." names no test'],
            "`lib/other_test.c`": ['"It can." names no test'], "`build/test/other`": ['"It can." names no test'],
            "`it_is_not`": ["`it_is_not`: no such test", '"It can." names no test'],
        }.items():
            page = f"## What it can and cannot do\n\n- **It can.** Words\n  ({proof}).\n- **It cannot.** (`it_is_so`)\n\nMore.\n\n## Else\n\n- **It may.**\n"
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for name, content in {**FILES, **files, "docs/security.md": page}.items():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(content, encoding="utf-8")
                checker = check_docs.Checker(root)
                checker.check_security()
                self.assertEqual(checker.mistakes, [f"docs/security.md: {mistake}" for mistake in mistakes], proof)

    def test_a_limit_that_the_code_has_otherwise_is_found(self):
        for row in "| a | 9 | `sidecar/record/hooks.h` `HOOKS_MAX` |", "| b | 64 MiB | `sidecar/record/hooks.h` `OUTPUT_MAX` |", \
                   "| c | 8 | `sidecar/record/hooks.h` `NONE_MAX` |":
            with unittest.mock.patch.dict(FILES, {"docs/limits.md": row + "\n"}):
                self.assertEqual(len(self.mistakes("")), 1, row)

    def test_the_support_matrix_names_exactly_the_versions_that_are_pinned(self):
        for file, text, mistake in (
                ("e2e/cluster/go.mod", "k8s.io/kubernetes v1.38.0", "Kubernetes 1.38 is tested, and not named as such"),
                ("e2e/cluster/go.mod", "", "Kubernetes 1.37 is named as tested, and is not in e2e/cluster/go.mod"),
                ("e2e/cluster/helm/go.mod", "", "Helm 3.22 is named as tested, and is not in e2e/cluster/helm/go.mod or e2e/chart/helm4/go.mod")):
            with unittest.mock.patch.dict(FILES, {file: text}):
                self.assertIn(f"docs/support.md: {mistake}", self.mistakes(""))

    def test_a_message_names_a_page_that_is_there_by_its_address(self):
        for line, mistakes in (('err("x (" DOCS_PAGE("other.md#twice") ")");', 0), ('err("x (" DOCS_PAGE("none.md") ")");', 1),
                               ('err("x (" DOCS_PAGE("other.md#none") ")");', 1), ('err("see docs/other.md");', 1), ("/* see docs/other.md */", 0)):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder).resolve()
                for name, content in {"plugin/x.c": line + "\n", "docs/other.md": FILES["docs/other.md"]}.items():
                    (root / name).parent.mkdir(parents=True)
                    (root / name).write_text(content, encoding="utf-8")
                checker = check_docs.Checker(root)
                checker.check_messages()
                self.assertEqual(len(checker.mistakes), mistakes, line)

    def first_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {"README.md": text, "e2e/release/first_screen.sh": "of_readme '^pip install'"}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            checker = check_docs.Checker(root)
            checker.check_first_page()
            return checker.mistakes

    def test_the_first_page_is_short_and_plain_and_each_of_its_commands_is_run(self):
        self.assertEqual(self.first_page("Plain words.\n\n    pip install afterglow-ray\n"), [])
        self.assertEqual(self.first_page("word " * 1201), ["README.md: 1201 words are more than 1200"])
        self.assertEqual(self.first_page("The Spool is full."), ["README.md: a newcomer does not know the word Spool"])
        # One that no script has, and one whose script is gone.
        for command in ("make tea", "helm install x"):
            self.assertEqual(self.first_page(f"Text.\n\n    {command}\n"), [f"README.md:3: nothing runs `{command}`"])


if __name__ == "__main__":
    unittest.main()
