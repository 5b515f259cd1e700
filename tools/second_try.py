# SPDX-License-Identifier: Apache-2.0
"""Which tests of a suite failed, from its output, and the command that runs just these again."""

import re
import shlex

# A test of make's is a target run-NAME, and make says which of them failed. pytest lists the failed ones at its end.
MAKE_TARGET = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[(?:[^\]:]+:\d+: )?(run-[^\]]+)\] (?:Error \d+|\w+)")
# What follows "@" is pytest-xdist's word for a group, and no part of the name.
PYTEST_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+::[^\s\[@]+(?:\[.*?\])?)(?:@\S+(?: \S+)*?)?(?: - .*)?$")
# A fixture that fails once fails each test that shares it, with the same words.
PYTEST_FIXTURE = re.compile(r"^ERROR (\S+?)::.*? - (.*)$")


def is_pytest(command):
    return command.split()[0] == "e2e/run.sh"


def tests(command, lines):
    """Returns the names of the failed tests in the output of this command, each once, with what failed: the test or its fixture."""
    pattern = PYTEST_TEST if is_pytest(command) else MAKE_TARGET
    found = {}
    for line in (line.rstrip("\n") for line in lines):
        if match := pattern.match(line):
            fixture = PYTEST_FIXTURE.match(line)
            found.setdefault(match[1], fixture.groups() if fixture else match[1])
    return found


def command(suite_command, names):
    """Returns variables and a command: the suite's, for these tests alone. The last word of a make command is its target."""
    if is_pytest(suite_command):
        return {"AFTERGLOW_TESTS": "\n".join(names)}, suite_command
    words = [word for word in shlex.split(suite_command)[:-1] if not re.fullmatch(r"-j\d+", word)]
    return {}, shlex.join(words + ["--keep-going"] + names)
