#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""afterglow-unwind on cores that the kernel wrote, beside gdb and eu-stack on the same cores.
Ends with "N passed, N failed". AFTERGLOW_BUILD: where the program is (default build)."""
import glob
import json
import lzma
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "unwind")
UNWIND = os.path.abspath(os.path.join(os.environ.get("AFTERGLOW_BUILD", "build"), "afterglow-unwind"))
PACK = os.path.join(os.path.dirname(UNWIND), "afterglow-pack")
work = ""


def run(*command, **more):
    result = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", **more)
    if result.returncode:
        raise AssertionError(f"{command} ended with {result.returncode}: {result.stderr[-2000:]}")
    return result.stdout


def read(path):
    with open(path, "rb") as f:
        return f.read()


def source_lines(name):
    return read(os.path.join(SOURCES, name)).decode().split("\n")


def compile_c(name, *flags, source="crash.c", compiler="gcc"):
    path = os.path.join(work, name)
    run(compiler, "-w", *flags, "-o", path, os.path.join(SOURCES, source), "-pthread")
    return path


cores = {}


def core_of(*command):
    """The core that the command dies with, made once, with the memory that the launcher has kept (0x31)."""
    if command in cores:
        return cores[command]
    directory = tempfile.mkdtemp(dir=work)

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open("/proc/self/coredump_filter", "w", encoding="ascii") as f:
            f.write("0x31")

    ended = subprocess.run(command, cwd=directory, preexec_fn=prepare, capture_output=True, check=False)
    found = os.listdir(directory)
    if len(found) != 1:
        pattern = read("/proc/sys/kernel/core_pattern").decode().strip()
        raise RuntimeError(f"{command} ended with {ended.returncode} and left {found}; core_pattern must be a file name: {pattern}")
    cores[command] = os.path.join(directory, found[0])
    return cores[command]


class Result:
    """What afterglow-unwind says."""

    def __init__(self, core, *options):
        read, write = os.pipe()
        child = subprocess.run([UNWIND, "--core", core, "--summary-fd", str(write), *options], pass_fds=[write],
                               capture_output=True, text=True, check=False, timeout=300)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as f:
            line = f.read()
        self.code, self.text, self.errors = child.returncode, child.stdout, child.stderr
        self.summary = json.loads(line) if line else None
        self.headline = self.text.split("\n", 1)[0]
        # (name, inlined) of each frame, by thread.
        self.threads = []
        for line in self.text.split("\nModules:")[0].splitlines():
            if line.startswith("Thread "):
                self.threads.append([])
            elif match := re.match(r"#\d+ +0x[0-9a-f]{16} in (.*?)(?: at (\S+:\d+))?(?: from \S+)?( \(inlined\))?$", line):
                self.threads[-1].append((match[1], bool(match[3])))

    def names(self, thread=0, inlined=True):
        return [plain(name) for name, within in self.threads[thread] if inlined or not within]

    def python(self, thread=0):
        block = re.split(r"\nThread \d+", self.text.split("\nModules:")[0])[1 + thread]
        return re.findall(r"^     (\S+):(\d+) in (.+)$", block, re.M)


def plain(name):
    """A function's name without the parts in which the three programs differ: arguments, versions, glibc's internal names."""
    name = re.sub(r"@.*| \[clone .*|\.(constprop|isra|part|cold)\b.*", "", name.replace("(anonymous namespace)", "{anonymous}"))
    name = re.sub(r"operator\(\)", "operator{}", name)
    name = re.sub(r"\(.*", "", name)
    name = re.sub(r"^(?:.* )?(\S+<.*>::\S+|\S+)$", r"\1", name) if "<" not in name.split(" ")[0] else name
    return re.sub(r"_impl$", "", re.sub(r"^(__GI_)?_*(libc_|vdso_)?", "", name))


def short(name):
    """The last component, without template arguments."""
    while "<" in name and (less := re.sub(r"(::)?<[^<>]*>", "", name.replace("->", ""))) != name:
        name = less
    return re.sub(r"\{+closure.*", "{closure}", re.sub(r"<.*", "", name).split("::")[-1]).lstrip("_").replace("operator{}", "operator")


def gdb_names(core, executable, thread_frames="bt"):
    text = run("gdb", "-batch", "-nx", "-ex", "set print frame-arguments none", "-ex", "set width 0", "-ex", thread_frames,
               executable, core, stdin=subprocess.DEVNULL)
    threads = [[]]
    for line in text.splitlines():
        if line.startswith("Thread "):
            threads.append([])
        elif match := re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?(.+?) ?(?:\((?:\)|[^()]*=\.\.\.\)).*)$", line):
            if match[1] == "0": # said once when the core is loaded, once when asked for
                threads[-1] = []
            threads[-1].append(plain(match[2]))
    return [names for names in threads if names]


def stack_names(core, executable):
    child = subprocess.run(["eu-stack", "--core", core, "--executable", executable], capture_output=True, text=True, check=False)
    threads = []
    for line in child.stdout.splitlines():
        if line.startswith("TID "):
            threads.append([])
        elif match := re.match(r"#\d+ +0x[0-9a-f]+(?: - \d+| )? *(.*)$", line):
            threads[-1].append(plain(match[1]) if match[1] else "??")
    return threads


def until(names, last):
    """The frames up to the program's first function. The frames below are libc's, and their names depend on whether its
    debug information is installed."""
    return names[:names.index(last) + 1]


class Native(unittest.TestCase):
    """Programs in C, C++ and Rust."""

    def compare(self, program, way, expected, last="main", gdb=True, stack=True, tails=()):
        core = core_of(program, way)
        ours = Result(core)
        self.assertEqual(ours.code, 0, ours.errors)
        names = until(ours.names(), last)
        self.assertEqual([n for n in names if n in expected], expected, names)
        if gdb:
            theirs = until(gdb_names(core, program)[0], last)
            # gdb adds what it concludes from jumps at the end of functions, which are in no frame.
            self.assertEqual(names, [n for n in theirs if n not in tails])
        if stack:
            self.assertEqual(until(ours.names(inlined=False), last), until(stack_names(core, program)[0], last))
        return ours

    CHAIN = ["deref", "inlined_inner", "inlined_outer", "through_null", "main"]

    def test_c_with_debug_information_shows_inlined_functions_and_lines(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "null", self.CHAIN)
        self.assertRegex(ours.headline, r"^SIGSEGV at address 0x0 in deref \(debug\)$")
        line = next(i for i, text in enumerate(source_lines("crash.c"), 1) if "int v = *(const" in text)
        self.assertEqual(ours.summary["crashedFrame"]["source"], f"{SOURCES}/crash.c:{line}")
        self.assertEqual((ours.summary["signal"], ours.summary["code"], ours.summary["faultAddress"]), (11, "SEGV_MAPERR", "0x0"))

    def test_c_not_optimized(self):
        self.compare(compile_c("plain", "-g", "-O0"), "null", self.CHAIN)

    def test_c_without_debug_information(self):
        ours = self.compare(compile_c("symbols", "-O2"), "null", ["deref", "through_null", "main"])
        self.assertIsNone(ours.summary["crashedFrame"]["source"])

    def test_c_at_a_fixed_address(self):
        self.compare(compile_c("fixed", "-g", "-O2", "-no-pie", "-fno-pie"), "null", self.CHAIN)

    def test_c_linked_statically(self):
        self.compare(compile_c("static", "-g", "-O2", "-static"), "null", self.CHAIN)

    def test_c_linked_statically_at_a_random_address(self):
        self.compare(compile_c("static-pie", "-g", "-O2", "-static-pie"), "null", self.CHAIN)

    def test_stripped_has_offsets_that_a_debugger_can_resolve(self):
        unstripped = compile_c("whole", "-g", "-O2")
        stripped = os.path.join(work, "stripped")
        run("strip", "-o", stripped, unstripped)
        ours = Result(core_of(stripped, "null"))
        frames = re.findall(rf"^#\d+ +0x[0-9a-f]+ in \?\? from {stripped}\+0x([0-9a-f]+)$", ours.text, re.M)
        self.assertEqual(len(ours.names()), len(stack_names(core_of(stripped, "null"), stripped)[0]))
        # The first is the instruction, the others are where calls return to.
        resolved = [run("eu-addr2line", "-S", "-e", unstripped, hex(int(frame, 16) - (i > 0))).split("\n")[0].split("+")[0]
                    for i, frame in enumerate(frames[:3])]
        self.assertEqual(resolved, ["deref", "through_null", "main"])

    def test_debug_information_by_build_id_below_the_containers_root(self):
        program = compile_c("separate", "-g", "-O2")
        root = tempfile.mkdtemp(dir=work)
        identity = build_id(program)
        debug = f"{root}/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug"
        os.makedirs(os.path.dirname(debug))
        os.makedirs(root + os.path.dirname(program))
        run("objcopy", "--only-keep-debug", program, debug)
        run("strip", program)
        shutil.copy(program, root + program)
        ours = Result(core_of(program, "null"), "--root", root)
        self.assertEqual(until(ours.names(), "main"), self.CHAIN)

    def test_the_small_symbol_table_of_stripped_programs(self):
        program = compile_c("mini", "-g", "-O2")
        mini, table = program + ".debug", program + ".xz"
        run("objcopy", "--strip-debug", program, mini)
        run("strip", program)
        with open(table, "wb") as f:
            subprocess.run(["xz", "-c", mini], stdout=f, check=True)
        run("objcopy", "--add-section", f".gnu_debugdata={table}", program)
        ours = Result(core_of(program, "null"))
        self.assertEqual(until(ours.names(), "main"), ["deref", "through_null", "main"])

    def test_a_call_through_a_null_pointer_names_the_caller(self):
        program = compile_c("debug", "-g", "-O2")
        ours = self.compare(program, "nowhere", ["??", "call_nowhere", "main"], stack=False)
        self.assertRegex(ours.headline, "^SIGSEGV at address 0x0, where no code is, called by call_nowhere ")
        self.assertEqual(ours.summary["crashedFrame"]["function"], "call_nowhere")

    def test_a_stack_overflow_shows_as_many_frames_as_allowed_and_who_began(self):
        program = compile_c("debug", "-g", "-O2")
        core = core_of(program, "overflow")
        ours = Result(core, "--max-frames", "100")
        self.assertRegex(ours.headline, "^SIGSEGV at address 0x[0-9a-f]+, its stack is full, in recurse ")
        self.assertEqual(ours.names()[:100], ["recurse"] * 100)
        self.assertEqual(ours.names()[:100], gdb_names(core, program, "bt 100")[0][:100])
        self.assertEqual(until(ours.names()[100:], "main"), gdb_names(core, program, "bt -5")[0][-5:])
        hidden = int(re.search(r"\((\d+) more frames are not shown\)", ours.text)[1])
        self.assertGreater(hidden, 10000)
        self.assertIn(f"#{hidden + 100} ", ours.text)
        self.assertTrue(ours.summary["truncated"])
        self.assertFalse(ours.summary["coreCut"])

    def test_a_signal_that_another_process_sent_blames_no_frame(self):
        ours = Result(core_of(compile_c("debug", "-g", "-O2"), "sent"))
        self.assertRegex(ours.headline, r"^SIGSEGV, which PID \d+ sent, while in ")
        self.assertGreater(ours.summary["sentBy"], 0)
        self.assertIsNone(ours.summary["crashedFrame"].get("function"))

    def test_a_smashed_stack_ends_where_it_is_corrupt(self):
        program = compile_c("debug", "-g", "-O2")
        core = core_of(program, "smash")
        ours = Result(core)
        self.assertEqual(ours.names()[0], "smash")
        self.assertEqual(ours.names()[0], gdb_names(core, program)[0][0])
        self.assertLess(len(ours.names()), 4)
        self.assertIn("the stack is corrupt", ours.text)
        further = ours.text.split("  Addresses of calls further up")[1].split("\n\n")[0]
        self.assertRegex(further, r"     0x[0-9a-f]{16} in main at ")

    def test_abort_blames_the_caller(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "abort", ["abort", "give_up", "main"], tails=["pthread_kill_internal"])
        self.assertRegex(ours.headline, r"^SIGABRT in give_up \(debug\)")
        self.assertEqual(ours.summary["code"], "SI_TKILL")

    def test_what_glibc_wrote_before_it_aborted_is_shown(self):
        for flags, way, who, message in (
                (("-g", "-O1"), "assert", "fail_assertion", r"crash\.c:\d+: fail_assertion: Assertion `n < 0' failed\.$"),
                (("-g", "-O1"), "free", "free_twice", r"^free\(\): double free detected in tcache 2$"),
                (("-g", "-O1", "-static"), "assert", "fail_assertion", r"Assertion `n < 0' failed\.$"),
                (("-g", "-O1", "-static"), "free", "free_twice", r"^free\(\): double free"),
                (("-g", "-O1", "-fstack-protector-all"), "overrun", "overrun_array", r"^\*\*\* stack smashing detected \*\*\*: terminated$")):
            with self.subTest(way, flags=flags):
                ours = Result(core_of(compile_c("words" + "".join(flags), *flags), way))
                self.assertRegex(ours.headline, rf"^SIGABRT in {who}")
                self.assertRegex(ours.summary["message"], message)
                self.assertIn("  message    " + ours.summary["message"] + "\n", ours.text)
        self.assertIsNone(Result(core_of(compile_c("debug", "-g", "-O2"), "abort")).summary["message"])

    def test_a_division_by_zero(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "divide", ["divide", "main"])
        self.assertEqual((ours.summary["signalName"], ours.summary["code"]), ("SIGFPE", "FPE_INTDIV"))

    def test_memory_past_the_end_of_a_file(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "bus", ["past_the_file", "main"])
        self.assertEqual((ours.summary["signalName"], ours.summary["code"]), ("SIGBUS", "BUS_ADRERR"))

    def test_a_pointer_that_cannot_be_one(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "wild", ["deref", "wild_pointer", "main"])
        self.assertEqual((ours.summary["code"], ours.summary["faultAddress"]), ("SI_KERNEL", None))

    def test_a_crash_in_the_kernels_own_library(self):
        ours = self.compare(compile_c("debug", "-g", "-O2"), "vdso", ["in_the_vdso", "main"])
        self.assertIn("[vdso]", ours.headline)

    def test_a_handler_that_raises_again_hides_nothing(self):
        for way in "handled", "handled-told":
            with self.subTest(way):
                ours = self.compare(compile_c("debug", "-g", "-O2"), way, ["raise_again", "deref", "main"], gdb=False)
                self.assertRegex(ours.headline, "^SIGSEGV at address 0x18 in deref ")
                self.assertIn("<signal handler called>", ours.text)
                self.assertNotIn("orig_rax", ours.text) # which no signal frame holds
                self.assertEqual((ours.summary["code"], ours.summary["crashedFrame"]["function"]), ("SEGV_MAPERR", "deref"))

    def test_an_abort_in_the_handler_of_another_signal_is_no_fault(self):
        for way in "watchdog", "watchdog-told", "watchdog-fault":
            with self.subTest(way):
                ours = Result(core_of(compile_c("debug", "-g", "-O2"), way))
                self.assertRegex(ours.headline, r"^SIGABRT in abort_on \(debug\)")
                self.assertEqual(ours.summary["code"], "SI_TKILL")
                self.assertNotIn("FPE", ours.text)

    def test_a_division_by_zero_whose_handler_aborts(self):
        ours = Result(core_of(compile_c("debug", "-g", "-O2"), "divide-handled"))
        self.assertRegex(ours.headline, r"^SIGFPE at address 0x0 in divide \(debug\)")

    def test_what_was_refused_is_named(self):
        rows = [("call", r"^SIGSYS for the system call memfd_create in call_refused \(refused\)", "memfd_create"),
                ("instruction", r"^SIGILL at address 0x\w+, an AVX-512 instruction, in unknown_instruction \(refused\)", "an AVX-512 instruction"),
                ("unreachable", r"^SIGILL at address 0x\w+, ud2, which compilers place .* in unreachable \(refused\)", None)]
        for way, headline, refused in rows:
            with self.subTest(way):
                ours = Result(core_of(compile_c("refused", "-g", "-O2", source="refused.c"), way))
                self.assertRegex(ours.headline, headline)
                if refused:
                    self.assertEqual(ours.summary["refused"], refused)

    def library(self, way, *more):
        """The result of loader.c with a copy of library.c that has no symbols, and the loader."""
        program = compile_c("loader", "-g", "-O2", source="loader.c")
        library = compile_c("library.so", "-O2", "-s", "-fPIC", "-shared", "-fomit-frame-pointer", source="library.c")
        return Result(core_of(program, library, way, *more))

    def test_an_abort_in_a_library_without_symbols_is_not_its_callers(self):
        one, other = (self.library(way) for way in ("1", "2"))
        for ours in one, other:
            self.assertRegex(ours.headline, r"^SIGABRT in library\.so$")
            self.assertIn("innocent", ours.names())
        self.assertNotEqual(one.summary["crashedFrame"]["offset"], other.summary["crashedFrame"]["offset"])

    def test_missing_unwind_information_is_no_corrupt_stack(self):
        rows = [("0", "the module's file is gone", "library.so"), ("3", "it was generated at run time", "in code of no known file")]
        for way, reason, place in rows:
            with self.subTest(reason):
                ours = self.library(way, "delete")
                self.assertIn(place, ours.headline)
                self.assertIn("no unwind information, as", ours.text)
                self.assertIn(reason, ours.text)
                self.assertNotIn("corrupt", ours.text)
                self.assertIn("in innocent at ", ours.text.split("  Addresses of calls further up")[1])

    def test_an_abort_without_unwind_information_names_no_one(self):
        for kind in "-static", "-dynamic":
            with self.subTest(kind):
                program = compile_c("musl" + kind, "-O2", *([kind] if kind == "-static" else []), compiler="musl-gcc")
                ours = Result(core_of(program, "abort"))
                self.assertRegex(ours.headline, r"^SIGABRT, raised by an unknown caller$")
                self.assertIsNone(ours.summary["crashedFrame"].get("function"))
                self.assertNotIn("corrupt", ours.text)
                self.assertIn("in give_up", ours.text.split("  Addresses of calls further up")[1])

    def test_the_summary_of_a_core_has_the_same_frames(self):
        program = compile_c("debug", "-g", "-O2")
        for way in "null", "threads", "nowhere", "handled", "handled-told":
            with self.subTest(way):
                core = core_of(program, way)
                summary = os.path.join(work, way + ".summary")
                with open(core, "rb") as whole, open(summary + ".zst", "wb") as packed:
                    run(PACK, "--mode", "summary", "--core-fd", str(whole.fileno()), "--out-fd", str(packed.fileno()),
                        pass_fds=[whole.fileno(), packed.fileno()])
                run("zstd", "-dqf", summary + ".zst", "-o", summary)
                self.assertLess(os.path.getsize(summary), os.path.getsize(core))
                ours, theirs = Result(summary), Result(core)
                self.assertEqual((ours.headline, ours.threads), (theirs.headline, theirs.threads))
                self.assertFalse(ours.summary["truncated"])

    def test_threads_crashed_one_first(self):
        program = compile_c("debug", "-g", "-O2")
        core = core_of(program, "threads")
        ours = Result(core)
        starts = ["crasher", "main"] + ["sleeper"] * 6
        mine = [until(ours.names(i), next(s for s in ("main", "crasher", "sleeper") if s in ours.names(i))) for i in range(8)]
        self.assertEqual(mine[0], self.CHAIN[:-1] + ["crasher"])
        self.assertEqual(sorted(names[-1] for names in mine), sorted(starts))
        theirs = gdb_names(core, program, "thread apply all bt")
        def own(names):
            return until(names, next(s for s in ("main", "crasher", "sleeper") if s in names))
        # The first block is the current thread's, once more.
        self.assertEqual(sorted(mine), sorted(own(names) for names in theirs[-8:]))
        stack = [own(names) for names in stack_names(core, program)]
        self.assertEqual(sorted(until(ours.names(i, inlined=False), mine[i][-1]) for i in range(8)), sorted(stack))
        few = Result(core, "--max-threads", "3")
        self.assertEqual(len(few.threads), 3)
        self.assertIn("(5 more threads are not shown)", few.text)

    def test_cpp_names(self):
        program = compile_c("cpp", "-g", "-O1", source="crash.cc", compiler="g++")
        ours = self.compare(program, "null", ["store::Shelf<int>::take", "store::{anonymous}::hidden", "store::use", "main"], gdb=False)
        self.assertRegex(ours.headline, r"^SIGSEGV at address 0xc in store::Shelf<int>::take\(unsigned long\) const \(cpp\)")
        theirs = until(gdb_names(core_of(program, "null"), program)[0], "main")
        self.assertEqual([short(n) for n in until(ours.names(), "main")], [short(n) for n in theirs])

    def test_an_uncaught_exception_blames_who_threw(self):
        program = compile_c("cpp", "-g", "-O1", source="crash.cc", compiler="g++")
        ours = self.compare(program, "throw", ["store::refuse", "main"], gdb=False)
        self.assertRegex(ours.headline, r"^SIGABRT in store::refuse\(int\) \(cpp\)")

    def test_rust_names(self):
        for mangling in "legacy", "v0":
            flags = ["-Csymbol-mangling-version=v0"] if mangling == "v0" else []
            program = os.path.join(work, "rust-" + mangling)
            run("rustc", "-g", "-Copt-level=1", "-Cpanic=abort", *flags, "-o", program, os.path.join(SOURCES, "crash.rs"))
            with self.subTest(mangling):
                core = core_of(program, "null")
                ours = Result(core)
                names = [name for name, _ in ours.threads[0]]
                shelf = next(i for i, name in enumerate(names) if "take" in name)
                self.assertRegex(names[shelf], r"^<?crash::shelf::Shelf<(T|u32)>>?::take")
                mine, theirs = [short(n) for n in names], [short(n) for n in gdb_names(core, program)[0]]
                self.assertEqual(mine[:5], ["read_volatile", "take", "{closure}", "apply", "main"])
                self.assertEqual(mine[:5], theirs[:5])
                panicked = Result(core_of(program, "panic"))
                self.assertRegex(panicked.headline, r"^SIGABRT in crash::shelf::open ")


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path))[1]


def interpreters():
    """The interpreters that have their C headers here: Debian's, and others of supported versions."""
    found = []
    for path in ["/usr/bin/python3"] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        if not os.path.exists(path):
            continue
        include, minor = run(path, "-c", "import sysconfig, sys; print(sysconfig.get_paths()['include'], sys.version_info.minor)").split()
        if os.path.exists(include + "/Python.h") and 9 <= int(minor) <= 15:
            found.append((path, include, int(minor)))
    return found


class Python(unittest.TestCase):
    """A C++ extension that crashes in a Python process."""

    def crash(self, path, include, *more):
        directory = os.path.join(work, "ext" + path.replace("/", "-"))
        os.makedirs(directory, exist_ok=True)
        if not os.path.exists(directory + "/boom.so"):
            run("g++", "-g", "-O2", "-shared", "-fPIC", "-I" + include, "-o", directory + "/boom.so", SOURCES + "/boom.cc")
        return core_of(path, SOURCES + "/crash.py", directory, *more)

    def expected(self, minor):
        source = source_lines("crash.py")
        lines = {text.strip(): number for number, text in enumerate(source, 1)}
        own = (lambda name: f"Actor.{name}") if minor >= 11 else (lambda name: name)
        again = lines["return self.méthode(depth - 1)"]
        frames = [("boom.crash(),", own("méthode")), (again, own("méthode")), (again, own("méthode")),
                  ("yield Actor().méthode(2)", "generator"), ("list(generator()),", "<module>")]
        return [(SOURCES + "/crash.py", str(lines.get(line, line)), name) for line, name in frames]

    def test_a_crash_while_the_interpreter_ends_says_so(self):
        late = Result(core_of("/usr/bin/python3", "-c", "import ctypes\nclass S:\n    def __del__(self, f=ctypes.string_at): f(1)\ns = S()"))
        self.assertRegex(late.headline, ", while the Python interpreter ended$")
        early = Result(core_of("/usr/bin/python3", "-c", "import ctypes\nctypes.string_at(1)"))
        self.assertNotIn("ended", early.headline)

    def test_python_and_native_frames_of_every_interpreter_here(self):
        found = interpreters()
        self.assertIn("/usr/bin/python3", [path for path, _, _ in found])
        for path, include, minor in found:
            for more in [], ["faulthandler"]:
                with self.subTest(f"{path} 3.{minor} {more}"):
                    core = self.crash(path, include, *more)
                    ours = Result(core)
                    self.assertEqual(ours.python(), self.expected(minor), ours.text)
                    self.assertEqual(ours.python(1)[0][2], "sleeper")
                    self.assertRegex(ours.headline, r"^SIGSEGV at address 0x0 in boom::deref_null\(int const\*\) \(boom.so\), thread \d+ \(one of 2\)$")
                    self.assertIn("crash.py:", ours.summary["python"])
                    executable = os.path.realpath(path)
                    self.assertEqual(ours.names(inlined=False), stack_names(core, executable)[0])
                    if not more: # gdb takes seconds for each
                        theirs = gdb_names(core, executable)[0]
                        # What gdb concludes from jumps, and what it guesses for functions without a symbol, stands between ours.
                        rest = iter(theirs)
                        for name in ours.names():
                            self.assertTrue(name == "??" or name in rest, (name, ours.names(), theirs))
        print("interpreters:", ", ".join(f"3.{minor} {path}" for path, _, minor in found))

    def test_an_interpreter_whose_file_is_gone_is_named_with_the_reason(self):
        path, include, _ = interpreters()[0]
        ours = Result(self.crash(path, include), "--root", tempfile.mkdtemp(dir=work))
        self.assertEqual(ours.code, 0)
        self.assertRegex(ours.text, r"  Python     no frames: python3\S*: no such file")
        self.assertIsNone(ours.summary["python"])


class Damaged(unittest.TestCase):
    """Cores and modules that are damaged, or are other files."""

    def whole(self, ours):
        self.assertIn(ours.code, (0, 1), ours.errors)
        if ours.code == 0:
            self.assertRegex(ours.headline, r"^(SIG|signal )")
        else:
            self.assertRegex(ours.errors, r"^afterglow-unwind: .+\n$")

    def test_what_is_no_core_is_refused_with_a_reason(self):
        rows = [(b"", "empty"), (b"\x7fELF", "only 4 bytes long"), (b"x" * 4096, "no ELF file"), (b"\0" * 100000, "no ELF file"),
                (read(UNWIND), "an ELF file, but no core")]
        path = os.path.join(work, "file")
        for data, reason in rows:
            with open(path, "wb") as f:
                f.write(data)
            ours = Result(path)
            self.assertEqual((ours.code, ours.text, ours.summary), (1, "", None))
            self.assertIn(reason, ours.errors)
        fifo = os.path.join(work, "fifo")
        os.mkfifo(fifo)
        self.assertIn("not a regular file", Result(fifo).errors)

    def test_the_name_of_a_program_drives_no_terminal(self):
        ours = Result(core_of(compile_c("python3.11\x1b[2J\x07", "-O2"), "null"))
        self.assertIn("Python     no frames: python3.11?[2J?: ", ours.text)
        self.assertNotRegex(ours.text + json.dumps(ours.summary, ensure_ascii=False), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_a_core_cut_anywhere_says_so(self):
        data = read(core_of(compile_c("debug", "-g", "-O2"), "null"))
        path = os.path.join(work, "cut")
        said = 0
        for part in range(1, 40):
            with open(path, "wb") as f:
                f.write(data[:len(data) * part // 40])
            ours = Result(path)
            self.whole(ours)
            if ours.code == 0:
                self.assertTrue(ours.summary["truncated"] and ours.summary["coreCut"])
                self.assertIn("core       cut short", ours.text)
                said += 1
        self.assertGreater(said, 20)

    def test_a_core_with_flipped_bits_never_breaks_it(self):
        data = bytearray(read(core_of(compile_c("debug", "-g", "-O2"), "threads")))
        random.seed(7)
        path = os.path.join(work, "flipped")
        headers = 64 + 56 * struct.unpack_from("<H", data, 56)[0] + 30000
        for _ in range(100):
            changed = bytearray(data)
            for _ in range(random.choice((1, 8, 64))):
                changed[random.randrange(random.choice((64, 4096, headers, len(data))))] = random.choice((0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))
            with open(path, "wb") as f:
                f.write(changed)
            self.whole(Result(path))

    def test_a_core_without_a_list_of_files_still_has_a_headline(self):
        data = read(core_of(compile_c("debug", "-g", "-O2"), "null"))
        kind = data.index(struct.pack("<I", 0x46494C45) + b"CORE\0") # NT_FILE
        path = os.path.join(work, "nameless")
        with open(path, "wb") as f:
            f.write(data[:kind] + b"XXXX" + data[kind + 4:])
        ours = Result(path)
        self.assertEqual(ours.code, 0)
        self.assertRegex(ours.headline, r"^SIGSEGV at address 0x0 at 0x[0-9a-f]+, in code of no known file$")
        self.assertIn("holds no list of mapped files", ours.text)

    def test_a_module_with_flipped_bits_costs_its_names_at_most(self):
        program = compile_c("bits", "-g", "-O2")
        core = core_of(program, "null")
        data = read(program)
        note = data.index(bytes.fromhex(build_id(program)))
        random.seed(11)
        root = tempfile.mkdtemp(dir=work)
        os.makedirs(root + os.path.dirname(program))
        for _ in range(100):
            changed = bytearray(data)
            for _ in range(random.choice((4, 40, 400))):
                at = random.randrange(random.choice((0x400, len(data))))
                if not note <= at < note + 20:
                    changed[at] = random.randrange(256)
            with open(root + program, "wb") as f:
                f.write(changed)
            ours = Result(core, "--root", root)
            self.assertEqual(ours.code, 0, ours.errors)
            self.assertTrue(ours.headline.startswith("SIGSEGV at address 0x0"), ours.headline)

    def test_a_file_that_was_replaced_is_not_used(self):
        program = compile_c("replaced", "-g", "-O2")
        core = core_of(program, "null")
        os.unlink(program)
        compile_c("replaced", "-g", "-O1", "-DOTHER")
        ours = Result(core)
        self.assertEqual(ours.code, 0)
        self.assertNotIn("deref", ours.text)
        self.assertRegex(ours.text, r"replaced \(not used: its build id is not the core's")

    def test_nothing_outside_the_root_is_read(self):
        program = compile_c("escape", "-g", "-O2")
        core = core_of(program, "null")
        root = tempfile.mkdtemp(dir=work)
        os.makedirs(root + os.path.dirname(program))
        for target in program, "../" * 20 + program[1:], "/proc/self/exe":
            os.symlink(target, root + program)
            ours = Result(core, "--root", root)
            self.assertEqual(ours.code, 0)
            self.assertNotIn("deref", ours.text)
            os.unlink(root + program)

    def test_libraries_below_find_no_way_out_either(self):
        """.gnu_debugaltlink is a path that libdw opens by itself."""
        program = compile_c("alt", "-g", "-O2")
        marker = os.path.join(work, "marker")
        shutil.copy(program, marker)
        link = os.path.join(work, "link")
        with open(link, "wb") as f:
            f.write(marker.encode() + b"\0" + b"\x01" * 20)
        run("objcopy", "--add-section", f".gnu_debugaltlink={link}", program)
        os.utime(marker, (1, 1))
        self.assertEqual(Result(core_of(program, "null")).code, 0)
        self.assertEqual(int(os.stat(marker).st_atime), 1)


class Bounds(unittest.TestCase):
    """Options and limits."""

    def test_a_symbol_table_that_unpacks_to_half_a_gigabyte_costs_little_memory(self):
        program = compile_c("bomb", "-O2")
        run("strip", program)
        table = program + ".xz"
        packer = lzma.LZMACompressor(preset=0)
        with open(table, "wb") as f, open(UNWIND, "rb") as real:
            f.write(packer.compress(real.read()))
            for _ in range(32):
                f.write(packer.compress(bytes(16 << 20)))
            f.write(packer.flush())
        run("objcopy", "--add-section", f".gnu_debugdata={table}", program)
        # time(1), since of what we start ourselves our own memory before exec would count.
        text = run("/usr/bin/time", "-f", "%M", "-o", program + ".peak", UNWIND, "--core", core_of(program, "null"))
        self.assertTrue(text.startswith("SIGSEGV at address 0x0"), text)
        with open(program + ".peak", encoding="ascii") as f:
            self.assertLess(int(f.read()), 96 << 10)

    def test_usage_errors_name_the_option(self):
        rows = [([], "which core?"), (["--core", "/nowhere"], "--core /nowhere: No such file"), (["--max-frames", "0"], "--max-frames takes"),
                (["--core-fd", "x"], "--core-fd takes a whole number"), (["--root", "/etc/passwd"], "--root /etc/passwd: Not a directory")]
        for options, message in rows:
            child = subprocess.run([UNWIND, *options], capture_output=True, text=True, check=False)
            self.assertEqual(child.returncode, 2)
            self.assertIn(message, child.stderr)

    def test_descriptors_do_as_well_as_paths(self):
        program = compile_c("debug", "-g", "-O2")
        core, root = os.open(core_of(program, "null"), os.O_RDONLY), os.open("/", os.O_PATH)
        text = run(UNWIND, "--core-fd", str(core), "--root-fd", str(root), pass_fds=[core, root])
        self.assertIn(" in through_null at ", text)

    def test_it_needs_no_library_of_the_network(self):
        libraries = run("ldd", UNWIND)
        self.assertNotRegex(libraries, r"debuginfod|curl|ssl|stdc\+\+")


def main():
    global work
    with tempfile.TemporaryDirectory(prefix="unwind_test.") as work:
        result = unittest.main(exit=False, verbosity=1, argv=sys.argv).result
        bad = len(result.failures) + len(result.errors)
        print(f"{result.testsRun - min(bad, result.testsRun)} passed, {bad} failed")
        return 1 if bad or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
