#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge() holds a report against what happened, and a death that went another way against nobody; results outlive a run."""
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True
from results import Results
from truth import HONEST, NOT_RUN, RIGHT, WRONG, WRONG_AND_CERTAIN, Death, Outcome, judge, oom, signalled

RUN = Path(__file__).resolve().parent / "run.py"
KILLED_LATER = Death("a process from outside is OOM-killed, and kill -9 of the command a second later",
                     signalled(9, honest={"KernelOOMContainer"}, lives={"KernelOOMProcess"}), memory="64Mi", ooms=1)
NAMED = replace(KILLED_LATER, truth=replace(KILLED_LATER.truth, victim="fact"))


def report(kind, confidence="certain", sentence="Container death was killed by the kernel: the kernel killed sh (PID 7)."):
    return {"class": kind, "confidence": confidence, "sentence": sentence, "exitCode": 137, "signal": "SIGKILL", "endedAt": "",
            "missing": [], "diagnosis": None, "evidence": []}


def score(death, facts, *reports):
    return judge(death, Outcome(code=137, reports=list(reports), facts=facts))[0]


class JudgeTest(unittest.TestCase):
    def test_an_oom_kill_that_did_not_happen_is_wrong_and_certain(self):
        self.assertEqual(WRONG_AND_CERTAIN, score(KILLED_LATER, {"neighbour": ["5"], "killed": ["5"]}, report("KernelOOMContainer")))
        self.assertEqual(WRONG_AND_CERTAIN, score(KILLED_LATER, {"killed": ["5"]}, report("KernelOOMContainer")))

    def test_a_second_victim_of_the_kernel_makes_it_another_death(self):
        self.assertEqual(NOT_RUN, score(KILLED_LATER, {"neighbour": ["5"], "killed": ["5", "7"]}, report("KernelOOMContainer")))
        self.assertEqual(NOT_RUN, score(KILLED_LATER, {"killed": ["5", "7"]}, report("KernelOOMContainer")))
        self.assertEqual(NOT_RUN, score(NAMED, {"victim": ["5"], "killed": ["5", "7"]}, report("KernelOOMContainer")))

    def test_the_victims_that_were_meant_are_none(self):
        killed = report("Killed", "likely", "Container death was most likely killed with SIGKILL.")
        self.assertEqual(RIGHT, score(KILLED_LATER, {"neighbour": ["5"], "killed": ["5"]}, killed))
        self.assertEqual(RIGHT, score(KILLED_LATER, {"killed": ["5"]}, killed))
        self.assertEqual(RIGHT, score(replace(KILLED_LATER, ooms=0), {"neighbour": ["5", "6"], "killed": ["5", "6"]}, killed))
        self.assertEqual(RIGHT, score(NAMED, {"victim": ["5"], "killed": ["5"]}, killed))

    def test_a_second_victim_of_an_oom_kill_is_none_of_our_business(self):
        death = Death("an OOM kill", oom(), memory="64Mi", ooms=1)
        text = "Container death was killed by the kernel: it reached its memory limit of 64.0 MiB."
        self.assertEqual(RIGHT, score(death, {"killed": ["5", "7"]}, report("KernelOOMContainer", sentence=text)))

    def test_a_report_without_what_makes_the_story_right_is_wrong(self):
        death = Death("kill -9 of what hung", signalled(9, says=("memory.high",)))
        self.assertEqual(WRONG, score(death, {}, report("Killed", sentence="Container death was killed with SIGKILL.")))
        self.assertEqual(RIGHT, score(death, {}, report("Killed", sentence="Container death was killed with SIGKILL; memory.high had slowed it down.")))

    def test_a_bundle_for_which_the_machine_was_too_slow_is_no_verdict(self):
        for said in "no bundle: ", "the bundle was not written: ":
            slow = Outcome(code=137, text=f"error death: {said}/tmp/d/store does not answer: Connection timed out")
            self.assertEqual(NOT_RUN, judge(KILLED_LATER, slow)[0])
        self.assertEqual(WRONG, judge(KILLED_LATER, Outcome(code=137))[0])


class ResultsTest(unittest.TestCase):
    def test_what_was_right_or_honest_is_settled_and_the_last_line_counts(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "results")
            first = Results(path)
            for name, scores in {"a": [RIGHT], "b": [NOT_RUN, HONEST], "c": [RIGHT, WRONG_AND_CERTAIN]}.items():
                for each in scores:
                    first.add("v2", "auto", name, each, True, "why")
            with path.open("a") as f:
                f.write('{"kernel": "v2", "na')
            later = Results(path)
            self.assertEqual(RIGHT, later.settled("v2", "auto", "a")["score"])
            self.assertEqual(HONEST, later.settled("v2", "auto", "b")["score"])
            self.assertIsNone(later.settled("v2", "auto", "c"))
            self.assertIsNone(later.settled("v2", "off", "a"))
            self.assertIsNone(later.settled("v1", "auto", "a"))
            later.add("v2", "auto", "c", RIGHT, True, "why")
            self.assertEqual(RIGHT, Results(path).settled("v2", "auto", "c")["score"])


class ProgramsTest(unittest.TestCase):
    def test_a_program_that_is_not_built_is_named_with_what_builds_it_and_nothing_runs(self):
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run([RUN, "--log", "off", "a child ends by SIGABRT, and exit 0"], env={**os.environ, "AFTERGLOW_BUILD": build},
                                  capture_output=True, text=True)  # fmt: skip
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, f"these programs are missing: .*{build}/afterglow-sidecar .*{build}/test/die .*: make .*test/die")


if __name__ == "__main__":
    unittest.main()
