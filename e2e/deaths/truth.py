# SPDX-License-Identifier: Apache-2.0
"""Defines a death, the truth about it, and how a report is judged by that truth."""
import re
from dataclasses import dataclass, field, replace

# The scores, from best to worst. Each death has the worst of its reports.
RIGHT, HONEST, WRONG, WRONG_AND_CERTAIN = "right", "honest", "wrong", "WRONG AND CERTAIN"
NOT_RUN = "not run"
SCORES = (RIGHT, HONEST, WRONG, WRONG_AND_CERTAIN, NOT_RUN)

SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
           10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT",
           24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 29: "SIGPOLL", 30: "SIGPWR", 31: "SIGSYS",
           34: "SIGRTMIN", 40: "SIGRTMIN+6", 64: "SIGRTMAX"}
CLASS_OF_SIGNAL = {2: "Interrupted", 4: "IllegalInstruction", 5: "Trap", 6: "Abort", 7: "BusError", 8: "ArithmeticError", 9: "Killed",
                   11: "Segfault", 15: "Terminated"}

# A sentence with one of these leaves room for another story, or only puts two facts side by side.
HEDGE = re.compile(r"likely|probabl|looks like|seems|may |might|perhaps|possibl|could |cannot be told|not known|unless|suggest|nobody"
                   r"|with which a shell reports|then the command ended with|ended with exit code \d+ (when|after)", re.I)
VICTIM = re.compile(r"(?:kernel|OOM killer) (?:has )?(?:killed|took) \S+ \(PID (\d+)")


@dataclass(frozen=True)
class Truth:
    """What happened, as the table that caused the death states it."""
    exit: int                   # what exec exits with
    classes: frozenset          # of the end: each of these names it rightly
    signal: int = 0             # which ended the command itself; 0: it exited; -1: either, as programs differ
    honest: frozenset = frozenset()  # of the end: not what happened, but a likely story where not all can be seen
    never: tuple = ()           # patterns: a report that says this contradicts what happened
    says: tuple = ()            # patterns: the report of the end lacks something without them
    lives: frozenset = frozenset()   # reports while the container lived on: these classes are right
    lives_honest: frozenset = frozenset()  # and these are honest
    reported: bool = False      # there has to be a report though the command exits with 0
    victim: str = "any"         # of ours, the OOM killer's: not checked if "any", stands in the facts if "fact", or "none"


@dataclass(frozen=True)
class Death:
    name: str
    truth: Truth
    inside: str = ""            # a shell's text, which is the command; or
    argv: tuple = ()            # the command itself
    memory: str = ""            # --memory-max
    options: str = ""           # further ones of exec
    before: str = ""            # shell's text, around the command
    outside: str = ""           # at the same time, outside
    after: str = ""
    pod: bool = False           # in a cgroup beside a sidecar, not under exec
    needs: frozenset = frozenset()   # "v1", "v2", "python", "vm", "here"
    alone: bool = False         # nothing else may run at that time
    ooms: int = 0               # reports that the kernel prints of it; more than ten in five seconds it leaves out


@dataclass
class Outcome:
    code: int = -1
    reports: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)   # name: list of values
    text: str = ""              # stderr's end, for whoever looks at a wrong one


def exits(code, *classes, **more):
    """The command itself exited, and nothing else happened."""
    return Truth(exit=code, classes=frozenset(classes or {"ApplicationError"} if code else {"Completed"}), **_sets(more))


def signalled(signo, *classes, **more):
    """The command itself was ended by that signal, and the kernel's OOM killer did not send it."""
    of_signal = CLASS_OF_SIGNAL.get(signo, "Signaled")
    return Truth(exit=128 + signo, signal=signo, classes=frozenset(classes or {of_signal}), **_sets(more))


def oom(*classes, exit=137, signal=9, honest=(), never=(), **more):
    """The OOM killer ended it: by default for the container's own limit."""
    classes = classes or ("KernelOOMContainer",)
    others = {"KernelOOMContainer", "KernelOOMPod", "KernelOOMNode", "KernelOOMProcess", "Killed"} | set(honest)
    return Truth(exit=exit, signal=signal, classes=frozenset(classes), honest=frozenset(others - set(classes)),
                 never=("not by the OOM killer", *never), **_sets(more))


def _sets(more):
    return {k: frozenset(v) if k in ("honest", "lives", "lives_honest") else tuple(v) if k in ("never", "says") else v for k, v in more.items()}


def judge(death, outcome):
    """Returns (score, whether it was certain, why)."""
    truth = death.truth
    killed = set(outcome.facts.get("killed", [])) - set(outcome.facts.get("neighbour", []))
    if truth.victim == "none" and killed:
        return NOT_RUN, False, "the kernel killed of ours: " + ", ".join(killed)
    # A slow machine's kernel may find nothing to free soon enough after a kill, and take another process too.
    others = (killed | set(outcome.facts.get("anywhere", []))) - set(outcome.facts.get("victim", []) + outcome.facts.get("neighbour", []))
    if outcome.code != truth.exit and others:
        return NOT_RUN, False, f"it exited with {outcome.code}, and the kernel killed others as well: " + ", ".join(others)
    # The command may be among them, before the SIGKILL that was meant for it.
    if truth.signal == 9 and "Killed" in truth.classes:
        second = _not_meant(death, outcome.facts)
        if second:
            return NOT_RUN, False, "the kernel killed others as well: " + ", ".join(sorted(second))
    if outcome.code != truth.exit:
        return WRONG_AND_CERTAIN, False, f"exec exited with {outcome.code}, not {truth.exit}"
    # A container that ended while no sidecar ran has no exit code.
    lives = [r for r in outcome.reports if r["exitCode"] is None and not (death.pod and "while no " in r["sentence"])]
    ends = [r for r in outcome.reports if r not in lives]
    if truth.classes == {"KernelOOMContainer"} and not truth.never[1:] and death.memory:
        size = float(death.memory.rstrip("Mi"))
        truth = replace(truth, never=(*truth.never, rf"its memory limit of (?!{size:.1f} MiB)"))
    if truth.reported and death.ooms and not outcome.reports and not killed and not outcome.facts.get("anywhere"):
        return NOT_RUN, False, "the kernel killed nobody in time"
    # The sidecar waits ten seconds for its disk, which a machine that hardly gets the processor may exceed.
    unreported = truth.exit and not ends or truth.reported and not outcome.reports
    if unreported and re.search(r"(no bundle|the bundle was not written): .* does not answer", outcome.text):
        return NOT_RUN, False, "the machine was too slow for a bundle"
    verdicts = [_judge_end(truth, r, outcome.facts) for r in ends] + [_judge_living(truth, r, outcome.facts) for r in lives]
    if truth.exit and not ends:
        verdicts.append((WRONG, "no report of the end"))
    if truth.reported and not verdicts:
        verdicts.append((WRONG, "not a word about it"))
    if len(ends) > 1:
        verdicts.append((WRONG, f"{len(ends)} reports of one end"))
    if not verdicts:
        return RIGHT, True, "nothing to report"
    score, why = max(verdicts, key=lambda v: SCORES.index(v[0]))
    return score, all(r["confidence"] == "certain" for r in outcome.reports), why


def _not_meant(death, facts):
    """Whom the kernel killed of ours beyond what the death was to bring about."""
    killed, neighbours = set(facts.get("killed", [])), set(facts.get("neighbour", []))
    if death.truth.victim == "fact":
        return killed - neighbours - set(facts.get("victim", []))
    # Where the victims have no names, their number is known.
    of_ours = killed - neighbours
    return of_ours if len(of_ours) > max(0, death.ooms - len(killed & neighbours)) else set()


def _judge_end(truth, report, facts):
    named = f"{report['class']}, {report['confidence']}"
    if report["exitCode"] is None:
        return _judge_class(report, truth.classes, truth.honest, truth, facts, named)
    if report["exitCode"] != truth.exit:
        return WRONG_AND_CERTAIN, f"exit code {report['exitCode']}"
    # A shell's 128 + n may be read as signal n, as long as the verdict stays as unsure as that is.
    by_code = truth.exit - 128 if truth.exit > 128 else 0
    signals = {truth.signal} if truth.signal > 0 else {0, by_code}
    if _signal_number(report["signal"]) not in signals:
        return WRONG_AND_CERTAIN, f"signal {report['signal']}"
    texts = _texts_of(report)
    lacks = [p for p in truth.says if not any(re.search(p, text) for text in texts)]
    if lacks:
        return WRONG, f"{named}, and does not say \"{lacks[0]}\""
    return _judge_class(report, truth.classes, truth.honest, truth, facts, named)


def _judge_living(truth, report, facts):
    named = f"lives: {report['class']}, {report['confidence']}"
    return _judge_class(report, truth.lives, truth.lives_honest, truth, facts, named)


def _judge_class(report, classes, honest, truth, facts, named):
    certain = report["confidence"] == "certain"
    wrong = WRONG_AND_CERTAIN if certain else WRONG
    contradiction = _contradiction(report, truth, facts)
    if contradiction:
        return wrong, f"{named}, and says \"{contradiction}\""
    if report["class"] in classes:
        return RIGHT, named if certain or HEDGE.search(report["sentence"]) else f"{named}, though the sentence asserts it"
    if certain:
        return wrong, f"{named}: {report['sentence']}"
    if report["class"] == "Unknown" or report["confidence"] == "unknown":
        return (HONEST, named) if report["missing"] else (WRONG, f"{named}, with nothing missing")
    if report["class"] not in honest:
        return WRONG, f"{named}: {report['sentence']}"
    if not HEDGE.search(report["sentence"]):
        return WRONG, f"{named}, but the sentence asserts it: {report['sentence']}"
    return HONEST, named


def _texts_of(report):
    return [report["sentence"], report["diagnosis"] or "", *(e["text"] for e in report["evidence"])]


def _contradiction(report, truth, facts):
    texts = _texts_of(report)
    for pattern in truth.never:
        for text in texts:
            found = re.search(pattern, text)
            if found:
                return text
    victim = VICTIM.search(report["sentence"])
    if victim and truth.victim == "none":
        return report["sentence"]
    if victim and truth.victim == "fact" and victim.group(1) not in facts.get("victim", []) + facts.get("killed", []):
        return report["sentence"]
    return None


def _signal_number(name):
    if name is None:
        return 0
    for number, known in SIGNALS.items():
        if known == name:
            return number
    found = re.fullmatch(r"SIGRTMIN\+(\d+)", name)
    if found:
        return 34 + int(found.group(1))
    found = re.fullmatch(r"SIG(\d+)", name)
    return int(found.group(1)) if found else -1
