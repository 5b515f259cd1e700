#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py [FOLDER]: whether what the documents name is there.

Of every *.md below FOLDER (default: this repository) it checks
- relative links, with their anchors, and files of the repository: `sidecar/verdict/classify.h`,
- options: `--spool-max`, and those after a program's name as in `afterglow-ship --as PATH`,
- values of the chart and fields of policies: `store.type`, `webhook.enabled=false`, and what follows --set,
- metrics (`afterglow_spool_bytes`), make's targets (`make demo`), and tests (`no_pod_takes_the_slots_of_another`),
- in commands of code blocks and spans: options and subcommands of our programs and of `kubectl afterglow`, values after --set, and make's targets,
that README.md is short, has no words that a newcomer would have to learn, and names no command that nothing runs,
that the pages that messages of programs name are there, that docs/README.md and the site's menu have each page,
and that docs/policies.md has every field of policies, docs/limits.md the figures of the code, and docs/support.md the versions that are tested.

It prints a line for each mistake, with its place, and exits 1 if there is one.
"""
import pathlib
import re
import sys

# Where the --help of each program is written.
HELP = {
    "afterglow-operator": "operator/options.c",
    "afterglow-sidecar": "sidecar/options.c",
    "afterglow-launch": "sidecar/launch/options.c",
    "afterglow-ship": "sidecar/ship/options.c",
    "afterglow-unwind": "sidecar/unwind/options.c",
    "afterglow-pack": "sidecar/pack/main.c",
    "afterglow-node": "node/options.c",
    "kubectl afterglow": "plugin/commands.def",
}
# Its tables name constants of the code, with their figures.
LIMITS_PAGE = "docs/limits.md"
# It has all fields of policies.
POLICY_PAGE = "docs/policies.md"
# Says who can do what, and names the tests that show it.
SECURITY_PAGE = "docs/security.md"
# Its rows name versions of what the tests run: the first two numbers of those that are pinned here, and no others.
SUPPORT_PAGE = "docs/support.md"
PINNED = {
    "Kubernetes": [("e2e/cluster/go.mod", r"k8s\.io/kubernetes v(\S+)")],
    "KubeRay": [("e2e/kuberay/go.mod", r"ray-project/kuberay/ray-operator v(\S+)")],
    "Ray": [("images/ray/requirements.txt", r"^ray==(\S+)"), ("images/ray/build.sh", r"--python-version (\S+)")],
    "container runtime": [("e2e/cluster/containerd/go.mod", r"containerd/containerd/v2 v(\S+)"),
                          ("e2e/cluster/runc/go.mod", r"opencontainers/runc v(\S+)")],
    "Helm": [("e2e/cluster/helm/go.mod", r"helm\.sh/helm/v3 v(\S+)"), ("e2e/chart/helm4/go.mod", r"helm\.sh/helm/v4 v(\S+)")],
}
# What a stranger reads first: at most so many words, without these, and commands that a script runs as they stand there.
FIRST_PAGE = "README.md"
FIRST_PAGE_WORDS = 1200
NOT_ON_FIRST_PAGE = re.compile(r"\b(launcher|spool|shipper|packer|unwinder|unmet end)", re.I)
RUN_BY = [("helm install", "e2e/release/first_screen.sh", "^helm install"), ("kubectl get", "e2e/release/first_screen.sh", "^kubectl get"),
          ("pip install", "e2e/release/first_screen.sh", "^pip install"), ("afterglow run", "e2e/release/first_screen.sh", "^afterglow run"),
          ("make demo", ".github/workflows/test.yml", "make demo"), ("make test", ".ci/run", "make check >")]
# Options of others that the documents speak of by themselves.
FOREIGN_OPTIONS = {
    "--memory", "--num-cpus", "--object-store-memory", "--redis_password", "--enable-resource-isolation",  # Ray
    "--cascade",  # kubectl
    "--force-conflicts", "--no-hooks", "--reuse-values", "--server-side",  # Helm
    "--enable-leader-election",  # KubeRay
    "--pdb",  # pytest
    "--strict",  # e2e/deaths/run.py
}
# Names that something had before: CHANGELOG.md says what they have become.
CHANGELOG = "CHANGELOG.md"
FORMER_NAMES = {"--wait-recorder", "afterglow_recorders", "afterglow_recorder_polls_total", "afterglow_recorder_failures_refused_total"}
# Files of a memory cgroup are written as values are.
CGROUP_FILE = re.compile(r"memory\.(events|max|high|low|min|current|peak|stat|oom|oom_control|pressure|limit_in_bytes|usage_in_bytes)\b")
SOURCE_FILE = re.compile(r"\.(c|h|py|sh|md|go|def|json|yaml|tpl)$")
SKIPPED_FOLDERS = {"build", "node_modules"}
# A test's name is a sentence; long names of settings of Ray are not.
TEST_NAME = re.compile(r"(?!afterglow_|gcs_)[a-z]\w*(?:_[a-z0-9]+){4,}")
# A path from the root of the repository.
REPOSITORY_PATH = re.compile(r"(bench|charts|crds|docs|e2e|images|lib|monitoring|node|operator|plugin|sidecar|tools)/[\w./-]+")


def read(root, path):
    try:
        return (root / path).read_text(encoding="utf-8")
    except OSError:
        return ""


def documents(folder):
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir() and path.name not in SKIPPED_FOLDERS:
            yield from documents(path)
        elif path.suffix == ".md":
            yield path


# --- What there is -------------------------------------------------------------------------------------------


def slugs(text):
    """The anchors that GitHub gives to the headings."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", without_fences(text), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        n = found.get(slug, 0)
        found[slug] = n + 1
        if n:
            found[f"{slug}-{n}"] = 1
    return set(found)


def without_fences(text):
    return re.sub(r"^( *)(```|~~~).*?^\1\2", "", text, flags=re.M | re.S)


def options_of(root):
    return {program: set(re.findall(r"--[a-z][a-z0-9-]*", " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', read(root, path)))))
            for program, path in HELP.items()}


def values_of(root):
    """The keys of values.yaml with dots between them. Those of {}, [] and resources are open: what is below is the user's."""
    closed, opened, above = set(), set(), []
    for line in read(root, "charts/afterglow/values.yaml").splitlines():
        match = re.match(r"( *)([A-Za-z][A-Za-z0-9_]*): *(.*)$", line)
        if not match:
            continue
        depth = len(match[1]) // 2
        above = above[:depth] + [match[2]]
        (opened if match[3] in ("{}", "[]") or match[2] == "resources" else closed).add(".".join(above))
    return closed, opened


def policy_fields_of(root):
    return set(re.findall(r'"((?:memory|recording|store|retention)\.[A-Za-z0-9.]+)"', read(root, "operator/policy/policy_keys.def")))


def with_parents(keys):
    return {key[:at] for key in keys for at in [*(m.start() for m in re.finditer(r"\.", key)), len(key)]}


def metrics_of(root):
    return set(re.findall(r'"(afterglow_[a-z_]+)"', read(root, "operator/kube/metrics.def") + read(root, "sidecar/http/metrics.def")))


def targets_of(root):
    """Rules, and what is .PHONY."""
    text = "".join(path.read_text() for path in [root / "Makefile", *root.glob("*.mk"), *root.glob("*/*.mk"), *root.glob("e2e/*/*.mk")]
                   if path.exists())
    text = text.replace("\\\n", " ")
    lines = re.findall(r"^([A-Za-z][\w -]*?) *:(?!=)", text, re.M) + re.findall(r"^\.PHONY: *(.*)$", text, re.M)
    return {word for line in lines for word in line.split()}


def tests_of(root):
    """The names of tests: functions of cmocka's and of pytest's."""
    sources = [*root.glob("*/**/*_test.c"), *root.glob("e2e/**/*.py"), *root.glob("tools/*_test.py")]
    return {name for path in sources for name in re.findall(r"^(?:static void|[ ]*def) (\w+)\(", path.read_text(encoding="utf-8"), re.M)}


def commands_of(root):
    """What may come behind `kubectl afterglow`."""
    return set(re.findall(r'^COMMAND\(\w+, "(\w+)"', read(root, "plugin/commands.def"), re.M))


def number_of(expression):
    """A constant of C: (64 * 1024), ((size_t)7 << 20), 8."""
    digits = re.sub(r"\([a-z_0-9 ]+\)", "", expression)
    return eval(digits, {"__builtins__": {}}) if re.fullmatch(r"[0-9 ()*<+-]+", digits) else None


def figure_of(text):
    """64 KiB, 10000."""
    match = re.fullmatch(r"(\d+)(?: (KiB|MiB|GiB))?", text.strip())
    return match and int(match[1]) << {None: 0, "KiB": 10, "MiB": 20, "GiB": 30}[match[2]]


def lines_of_versions(text):
    """The lines of releases, as in 1.37 for 1.37.2."""
    return set(re.findall(r"(?<![\d.])\d+\.\d+", text))


def shell_lines(text):
    """The commands of code blocks, indented or fenced, as (number of their first line, command); a \\ at the end joins lines."""
    fenced, number, joined = False, 0, ""
    for at, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if not (fenced or line.startswith("    ")) and not joined:
            continue
        number = number if joined else at
        joined += re.sub(r"(^|\s)#.*", "", line).strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        for command in re.split(r" {3,}", joined):
            yield number, command.removeprefix("$ ")
        joined = ""


# --- What the documents say ----------------------------------------------------------------------------------


class Checker:
    def __init__(self, root):
        self.root = root
        self.options = options_of(root)
        self.closed, self.opened = values_of(root)
        self.policy_fields = policy_fields_of(root)
        self.fields = with_parents(self.policy_fields)
        self.metrics = metrics_of(root)
        self.targets = targets_of(root)
        self.commands = commands_of(root)
        self.tests = tests_of(root)
        self.mistakes = []

    def check(self, path):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            place = f"{path.relative_to(self.root)}:{number}"
            for span in re.findall(r"`([^`]+)`", line):
                self.check_span(place, span)
            for value in re.findall(r"--set(?:-string)? ['\"]?([A-Za-z][\w.]*)", line):
                self.check_value(place, value)
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                self.check_link(place, path, target)
        for number, command in shell_lines(text):
            self.check_command(f"{path.relative_to(self.root)}:{number}", command)

    def check_policies(self):
        page = read(self.root, POLICY_PAGE)
        for field in sorted(self.policy_fields):
            if f"`{field}`" not in page:
                self.wrong(POLICY_PAGE, f"`{field}` of operator/policy/policy_keys.def is not there")

    def check_security(self):
        """Each claim of what somebody can and cannot do names its test, and each name of a test there is one, short ones, too."""
        page = read(self.root, SECURITY_PAGE)
        for span in sorted(set(re.findall(r"`([a-z]+(?:_[a-z0-9]+){2,3})`", page))):
            if span not in self.tests:
                self.wrong(SECURITY_PAGE, f"`{span}`: no such test")
        for chapter in re.findall(r"^## [^\n]* can and cannot do\n(.*?)(?=^## |\Z)", page, re.M | re.S):
            for title, claim in re.findall(r"^- \*\*(.+?)\*\*(.*(?:\n  .*)*)", chapter, re.M):
                if not any(self.is_test(span) for span in re.findall(r"`([^`]+)`", claim)):
                    self.wrong(SECURITY_PAGE, f'"{title}" names no test')

    def is_test(self, span):
        if span.startswith("build/test/"):
            return any(self.root.glob(f"*/**/{span.rpartition('/')[2]}.c"))
        return "_" in span and span in self.tests or bool(re.search(r"(^|/)test_\w+\.py$|_test\.(c|sh)$", span)) and (self.root / span).exists()

    def check_index(self):
        for file, pattern in (("docs/README.md", r"\(([\w-]+\.md)"), ("docs/site/mkdocs.yml", r"[\w-]+\.md")):
            named = set(re.findall(pattern, read(self.root, file)))
            for page in sorted({path.name for path in (self.root / "docs").glob("*.md")} - named - {"README.md"}):
                self.wrong(file, f"{page} is not there")

    def check_limits(self):
        rows = re.findall(r"^\|[^|]*\|([^|]*)\| `([^`]+)` `(\w+)` \|$", read(self.root, LIMITS_PAGE), re.M)
        for figure, file, name in rows:
            found = re.search(rf"^#define {name}[ \t]+(.*?)(?:[ \t]*/[*/].*)?$", read(self.root, file), re.M)
            if not found:
                self.wrong(LIMITS_PAGE, f"{file} does not define {name}")
            elif figure_of(figure) is None or number_of(found[1]) != figure_of(figure):
                self.wrong(LIMITS_PAGE, f"{name} is {found[1]} in {file}, not{figure.rstrip()}")

    def check_support(self):
        cells = dict(re.findall(r"^\| ([^|]+) \| ([^|]*) \|", read(self.root, SUPPORT_PAGE), re.M))
        for row, places in PINNED.items():
            pinned = {version for file, pattern in places for found in re.findall(pattern, read(self.root, file), re.M)
                      for version in lines_of_versions(found)}
            named = lines_of_versions(cells.get(row, ""))
            for version in sorted(pinned ^ named):
                self.wrong(SUPPORT_PAGE, f"{row} {version} is tested, and not named as such" if version in pinned else
                           f"{row} {version} is named as tested, and is not in " + " or ".join(file for file, _ in places))

    def check_messages(self):
        """A page that a message of a program names is DOCS_PAGE("name"), which release and reader know the address of."""
        for path in sorted(path for folder in ("lib", "node", "operator", "plugin", "sidecar") for path in (self.root / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8")
            if not path.name.endswith("_test.c") and re.search(r'^[^/*\n]*"[^"\n]*docs/[a-z-]+\.md', text, re.M):
                self.wrong(path.relative_to(self.root), "a message names a page in docs/ without DOCS_PAGE")
            for target in re.findall(r'DOCS_PAGE\("([^"]+)"\)', text):
                self.check_link(path.relative_to(self.root), self.root / "docs/README.md", target)

    def check_first_page(self):
        text = read(self.root, FIRST_PAGE)
        if len(text.split()) > FIRST_PAGE_WORDS:
            self.wrong(FIRST_PAGE, f"{len(text.split())} words are more than {FIRST_PAGE_WORDS}")
        for word in sorted(set(NOT_ON_FIRST_PAGE.findall(text))):
            self.wrong(FIRST_PAGE, f"a newcomer does not know the word {word}")
        for number, command in shell_lines(text):
            runs = [file for start, file, words in RUN_BY if command.startswith(start) and words in read(self.root, file)]
            if command and not runs:
                self.wrong(f"{FIRST_PAGE}:{number}", f"nothing runs `{command}`")

    def check_command(self, place, command):
        """A line of a code block, if it starts one of our programs, or make."""
        words = command.split()
        program = re.match(r"(?:\S*/)?(afterglow-[a-z]+)(?= |$)", command)
        if program and program[1] in self.options:
            self.check_options(place, re.split(r" -- ", command)[0], program[1])
        if words[:2] == ["kubectl", "afterglow"]:
            self.check_options(place, command, "kubectl afterglow")
            if words[2:] and words[2] not in self.commands and not words[2].startswith("-"):
                self.wrong(place, f"`{command}`: no such command of the plugin")
        if words[:1] == ["make"] and all(re.fullmatch(r"[a-z][\w-]*", word) for word in words[1:]):
            for word in words[1:]:
                if word not in self.targets:
                    self.wrong(place, f"`{command}`: no such target as {word}")

    def wrong(self, place, text):
        self.mistakes.append(f"{place}: {text}")

    def check_link(self, place, path, target):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            self.wrong(place, f"link to {target}: there is no {name}")
        elif anchor and (file.suffix != ".md" or anchor not in slugs(file.read_text(encoding="utf-8"))):
            self.wrong(place, f"link to {target}: there is no such heading")

    def check_span(self, place, span):
        if span in FORMER_NAMES and str(place).startswith(CHANGELOG):
            return
        if REPOSITORY_PATH.fullmatch(span) and not (self.root / span).exists():
            self.wrong(place, f"`{span}`: there is no such file")
        program = re.match(r"(?:\S*/)?(afterglow-[a-z]+)\b", span)
        if program and program[1] in self.options or span.startswith("--"):
            # What comes behind -- is another's command.
            self.check_options(place, re.split(r" -- ", span)[0], program and program[1])
        if span.startswith("kubectl afterglow "):
            self.check_command(place, span)
        if re.fullmatch(r"afterglow_[a-z_]+(\{[^}]*\})?", span) and span.partition("{")[0] not in self.metrics:
            self.wrong(place, f"`{span}`: no such metric")
        if TEST_NAME.fullmatch(span) and span not in self.tests:
            self.wrong(place, f"`{span}`: no such test")
        target = re.fullmatch(r"make ([a-z][\w-]*)", span)
        if target and target[1] not in self.targets:
            self.wrong(place, f"`{span}`: no such target")
        value = re.fullmatch(r"([a-z][A-Za-z0-9]*(?:\.[A-Za-z][A-Za-z0-9_]*)+|[a-z]+[A-Z][A-Za-z0-9]*(?==))(?:\.\*)?(?:[=:].*)?", span)
        if value and not SOURCE_FILE.search(value[1]) and not CGROUP_FILE.match(span):
            self.check_value(place, value[1])

    def check_options(self, place, span, program):
        known = self.options[program] if program else set().union(FOREIGN_OPTIONS, *self.options.values())
        for option in re.findall(r"(?:^|[ \[])(--[a-z][a-z0-9_-]*)", span):
            if option not in known:
                self.wrong(place, f"`{span}`: {option} is no option of " + (program or "any of our programs"))

    def check_value(self, place, value):
        """A name whose first word is none of the chart's is something else."""
        first = value.split(".")[0]
        if "." in value and first not in {key.split(".")[0] for key in self.closed | self.opened | self.fields}:
            return
        above = {value[:at] for at in range(len(value)) if value[at] == "."}
        if value not in self.closed | self.opened | self.fields and not above & self.opened:
            self.wrong(place, f"`{value}`: neither a value of the chart nor a field of policies")


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    checker = Checker(root)
    for path in documents(root):
        checker.check(path)
    checker.check_first_page()
    checker.check_messages()
    checker.check_policies()
    checker.check_security()
    checker.check_index()
    checker.check_limits()
    checker.check_support()
    print(*checker.mistakes, sep="\n", end="\n" if checker.mistakes else "")
    return 1 if checker.mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
