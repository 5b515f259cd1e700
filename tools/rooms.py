#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms.py [FOLDER]: which folder of the C code includes which, and how many lines of code there are.

A room is a folder. Of the product's code below FOLDER (default: this repository), which is all but tests, fuzz targets and
what only they include, it prints
- a line for each room with the rooms that it includes; a room stands below all that it includes,
- the knots of modules: those that include each other, by whatever way,
- how many percent of the functions share their name with one of another file, so that grep finds both, and how many are one word of
  up to eight letters,
- the places that block the event loop until an errand answers (lib/loop/errand.h),
- the number of lines that are neither blank nor a comment, as cloc counts C and its headers.

It exits 1 if rooms include each other in a circle, if lib includes a program's room or a program another program's, if an
included file is not there, if there are more than KNOTS_MAX knots,
SHARED_MAX or SHORT_MAX percent of such names, WAITS_MAX such places, or LINES_MAX lines.
"""
import collections
import pathlib
import re
import sys

LIBRARY = "lib"
PROGRAMS = ("operator", "sidecar", "node", "plugin")
# What is added has to be paid for: by merging and deleting, or by a commit that raises this number and says why.
LINES_MAX = 98618
# There are none. What two modules share goes into a third, which includes neither.
KNOTS_MAX = 0
# Percent of the functions. A static carries its noun: victim_find, not find.
SHARED_MAX, SHORT_MAX = 5.8, 3.2
# Nothing waits in the event loop: what takes time ends in an event. errand_wait_outside_loop asserts that the loop does not run.
WAITS_MAX = 0
WAIT = re.compile(r"\berrand_(?:call|wait)\((?!&?[\w>.-]+, 0,)")
SHORT = re.compile(r"[a-z]{1,8}")
FUNCTION = re.compile(r"^(?:[A-Za-z_][\w ]*[ *]+)+?\**([a-z_]\w*)\([^;{]*?\)\s*\n\{", re.M)

TESTS = re.compile(r"_(test|fuzz)\.c$|testing")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
# A comment, or a string or character in which /* is none.
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)


def sources(root):
    """The product's files, as {path: text}."""
    paths = (path for top in (LIBRARY, *PROGRAMS) for path in (root / top).rglob("*"))
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(paths) if path.suffix in (".c", ".h", ".def")}
    tests = {path for path in texts if TESTS.search(path.rpartition("/")[2])}
    includers = collections.defaultdict(set)
    for path, text in texts.items():
        for included in INCLUDE.findall(text):
            includers[included].add(path)
    of_tests = {path for path, others in includers.items() if others <= tests}
    return {path: text for path, text in texts.items() if path not in tests | of_tests}


def room_of(path):
    return path.rpartition("/")[0]


def module_of(path):
    """name.c, name.h, name.def and name_internal.h are one module."""
    return re.sub(r"(_internal)?\.(c|h|def)$", "", path)


def graph_of(files, part_of):
    """{part: {part that it includes: the first file that does}}, without the part itself."""
    graph = collections.defaultdict(dict)
    for path, text in files.items():
        part = part_of(path)
        graph[part]
        for included in INCLUDE.findall(text):
            if part_of(included) != part:
                graph[part].setdefault(part_of(included), path)
    return graph


def layers_of(graph):
    """The parts in groups that include each other, each behind all that it includes (Tarjan's algorithm)."""
    number, low, stack, groups = {}, {}, [], []

    def visit(part):
        number[part] = low[part] = len(number)
        stack.append(part)
        for other in sorted(graph.get(part, ())):
            if other not in number:
                visit(other)
            if other in stack:
                low[part] = min(low[part], low[other])
        if low[part] == number[part]:
            at = stack.index(part)
            groups.append(sorted(stack[at:]))
            del stack[at:]

    for part in sorted(graph):
        if part not in number:
            visit(part)
    return groups


def lines_of(text):
    bare = COMMENT.sub(lambda match: match[1] or "", text)
    return sum(1 for line in bare.splitlines() if line.strip())


def names_of(files):
    """{name: the files that define a function of that name}; each program has a main."""
    names = collections.defaultdict(set)
    for path, text in files.items():
        for name in FUNCTION.findall(text):
            names[name].add(path)
    names.pop("main", None)
    return names


def waits_of(files):
    """The places, as path:line."""
    for path, text in files.items():
        if path.endswith(".c") and not path.startswith(LIBRARY + "/"):
            bare = COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
            yield from (f"{path}:{bare.count(chr(10), 0, match.start()) + 1}" for match in WAIT.finditer(bare))


def percent_of(names, matches):
    functions = sum(len(paths) for paths in names.values())
    return 100 * sum(len(paths) for name, paths in names.items() if matches(name)) / max(functions, 1)


def may_include(path, included):
    top = included.partition("/")[0]
    return top in (LIBRARY, path.partition("/")[0])


def mistakes_of(files, rooms, lines, root):
    for path, text in files.items():
        for included in INCLUDE.findall(text):
            if not (root / included).exists():
                yield f"{path} includes {included}, which is not there"
            elif not may_include(path, included):
                yield f"{path} includes {included}: {LIBRARY} includes no program, and a program no other"
    for group in layers_of(rooms):
        if len(group) > 1:
            edges = [f"{room} includes {other} ({file})" for room in group for other, file in sorted(rooms[room].items()) if other in group]
            yield "a circle of rooms: " + "; ".join(edges)
    if lines > LINES_MAX:
        yield f"{lines} lines of code, more than LINES_MAX of tools/rooms.py"


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    files = sources(root)
    rooms = graph_of(files, room_of)
    for group in layers_of(rooms):
        for room in group:
            print(f"{room}:", *sorted(rooms[room]))
    knots = [group for group in layers_of(graph_of(files, module_of)) if len(group) > 1]
    for group in knots:
        print(f"knot of {len(group)} modules:", *group)
    names = names_of(files)
    shared, short = percent_of(names, lambda name: len(names[name]) > 1), percent_of(names, SHORT.fullmatch)
    print(f"{shared:.1f} % of the functions share their name, {short:.1f} % have a short one")
    waits = list(waits_of(files))
    print(f"{len(waits)} places wait for an errand:", *waits)
    lines = sum(lines_of(text) for path, text in files.items() if not path.endswith(".def"))
    print(f"{lines} lines of code, at most {LINES_MAX}")
    mistakes = list(mistakes_of(files, rooms, lines, root))
    ceilings = [(len(knots), KNOTS_MAX, "knots of modules", "KNOTS_MAX"), (shared, SHARED_MAX, "percent of shared names", "SHARED_MAX"),
                (short, SHORT_MAX, "percent of short names", "SHORT_MAX"), (len(waits), WAITS_MAX, "places that wait for an errand", "WAITS_MAX")]
    mistakes += [f"{n:g} {what}, more than {name} of tools/rooms.py" for n, most, what, name in ceilings if n > most]
    print(*mistakes, sep="\n", end="\n" if mistakes else "")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
