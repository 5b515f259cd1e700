#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""workflow_job.py WORKFLOW JOB [--suite SUITE] [--root ROOT] [--cache]: runs the steps of a job of .github/workflows in a fresh root of Debian (default:
bookworm), as GitHub runs those of a job with a container: as root, by `sh -e`, with nothing installed but apt, in a clone of HEAD. It says how long each
step took, and ends at the first one that fails.

Steps that write to GitHub are named and not run: those that get a secret, and all actions but the checkout. The job of a release sees a tag, for
which the changelog has its date. --root: a root that is there already. --cache: programs that this machine built for its own tests (tools/make_once.sh)
are used and kept, which only a root of the same Debian may do."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).parents[2]
CLONE = "/__w/afterglow/afterglow"
# Processes of a step end with it, and what it mounts goes with it. The root is a mount, as in a container: unshare(1) wants that.
ENTER = """
mount --bind "$1" "$1"
mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc"
[ -z "$2" ] || mount --bind "$2" "$1$2"
exec chroot "$1" sh -c 'cd "$1" && exec sh -e /tmp/step' sh "$3"
"""


def run(*words, **options):
    return subprocess.run(words, check=True, **options)


def make_root(suite, folder):
    run("mmdebstrap", "--quiet", "--variant=minbase", suite, str(folder))


def prepare(root, tagged):
    """Clones the repository into the root, which then reaches the network as this machine does."""
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    own = pathlib.Path("/usr/local/share/ca-certificates")
    if own.is_dir():
        shutil.copytree(own, root / own.relative_to("/"), dirs_exist_ok=True)
    clone = root / CLONE.lstrip("/")
    clone.parent.mkdir(parents=True)
    run("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(clone))
    version = run("make", "-s", "version", cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()
    if tagged:
        run(str(clone / "tools/changelog.py"), "--release", version, stdout=subprocess.DEVNULL)
        run("git", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-am", "CHANGELOG: the date", cwd=clone)
    return version


class Job:
    """A job in its root. `passed` and `left_out` have the names of steps."""

    def __init__(self, workflow, name, root, cache):
        self.steps, self.root, self.cache = workflow["jobs"][name]["steps"], root, cache  # a folder, or ""
        if "container" not in workflow["jobs"][name]:
            sys.exit(f"workflow_job.py: the job {name} has no container")
        version = prepare(root, name == "release")
        self.env = {
            "HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CI": "true", "GITHUB_ENV": "/tmp/github_env",
            "GITHUB_REPOSITORY": "Example/afterglow", "GITHUB_REPOSITORY_OWNER": "Example", "GITHUB_REF_NAME": f"v{version}",
            **{name: os.environ[name] for name in ("PIP_CERT", "http_proxy", "https_proxy", "no_proxy") if name in os.environ},
            **workflow.get("env", {}),
        }  # fmt: skip
        for name, value in self.env.items():
            if "${{" in value:
                sys.exit(f"workflow_job.py: {name}={value} is GitHub's to evaluate")
        if cache:
            self.env["AFTERGLOW_CACHE"] = cache
            os.makedirs(cache, exist_ok=True)
            os.makedirs(f"{root}{cache}", exist_ok=True)
        self.passed, self.left_out = [], []

    def run_step(self, step):
        (self.root / "tmp/step").write_text(step["run"])
        (self.root / "tmp/github_env").write_text("")
        code = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh", str(self.root), self.cache, CLONE],
                              env=self.env, stdin=subprocess.DEVNULL, check=False).returncode  # fmt: skip
        self.env.update(line.split("=", 1) for line in (self.root / "tmp/github_env").read_text().splitlines())
        return code

    def run_all(self):
        for step in self.steps:
            name = step.get("name") or step.get("uses") or step["run"].strip().splitlines()[0]
            if "secrets." in str(step.get("env", "")) or "uses" in step and not step["uses"].startswith("actions/checkout@"):
                self.left_out.append(name)
                continue
            began = time.monotonic()
            code = self.run_step(step) if "run" in step else 0
            print(f"== {name}: {'exit %d' % code if code else 'passed'} after {time.monotonic() - began:.0f} s", flush=True)
            if code:
                return 1
            self.passed.append(name)
        return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workflow")
    parser.add_argument("job")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--cache", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="afterglow-job-") as folder:
        root = args.root or pathlib.Path(folder) / args.suite
        if not args.root:
            make_root(args.suite, root)
        workflow = yaml.safe_load((ROOT / ".github/workflows" / args.workflow).read_text())
        cache = os.environ.get("AFTERGLOW_CACHE") or os.path.expanduser("~/.cache/afterglow")
        job = Job(workflow, args.job, root, cache if args.cache else "")
        failed = job.run_all()
    for name in job.left_out:
        print(f"not run here: {name}")
    print(f"{len(job.passed)} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
