#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dependency rules of docs/architecture.md, checked on the source text.

usage: check_includes.py ROOT        prints every breach as FILE:LINE: SENTENCE and ends with status 1 if there is one

CMake keeps most includes against the layers from compiling; this finds the rest, names the rule, and looks at what CMake
cannot see: cycles, third-party headers outside the folders they belong to, and test files that no build knows.
"""
import pathlib
import posixpath
import re
import sys

import plugins

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"  # check_licences.py looks that it is there.

# Top down: each may include only itself and what stands above it.
LAYERS = ["base", "json", "arguments", "graph", "backends", "transport", "nn", "convert", "data", "columns", "checkpoint", "monitor", "cluster",
          "estimator", "search", "cli", "testing"]

# Layers whose headers are for sources: they may show third-party types, so public headers of others do not include them.
FOR_SOURCES = ["json", "arguments"]

# Rooms: the folders in `src` of a module that has any, from the ground up; "" is `src` itself, where files may lie. Each may
# include only itself and those of lower floors.
ROOMS = {
    "modules/cli": [[""], ["data", "launch", "plot"], ["tune"]],
    "modules/cluster": [["job"], ["state"], ["server", "trainer"]],
    "modules/convert": [[""], ["cpp", "onnx", "onnx_model"], ["absent"]],
    "modules/data": [[""], ["images"]],
    "modules/estimator": [["task"], ["hooks"], ["model"], ["evaluate"], ["train"], [""]],
}
# Public headers stand in the room of the source file of their name. Those without one, and those of which it is not true:
ROOMS_OF_HEADERS = {
    "shoal/cluster/quiet_ports.h": "job",
    "shoal/cluster/row_gradients.h": "state",
    "shoal/cluster/run_identity.h": "job",
    "shoal/cluster/snapshot.h": "state",
    "shoal/cluster/store.h": "trainer",
    "shoal/cluster/update_observer.h": "state",
    "shoal/convert/onnx.h": "onnx",
    "shoal/data/tar_files.h": "",
    "shoal/estimator/estimator.h": "model",  # What Estimator's calls do stands above all rooms.
    "shoal/estimator/eval_listener.h": "model",
    "shoal/estimator/export_form.h": "model",
    "shoal/estimator/exported_model.h": "model",
    "shoal/estimator/exporter.h": "model",
    "shoal/estimator/initial_value.h": "model",
    "shoal/estimator/input_fn.h": "model",
    "shoal/estimator/interval_timer.h": "task",
    "shoal/estimator/mode.h": "model",
    "shoal/estimator/model_fn.h": "model",
    "shoal/estimator/run_cluster.h": "",
    "shoal/estimator/task_host.h": "task",
    "shoal/estimator/task_report.h": "task",
    "shoal/estimator/warm_start.h": "model",
    "shoal/shoal.h": "",
}

# Third party by the start of its include, and the folders whose sources (not public headers) may use it.
# Plug-ins say in their own folders what they include (plugins.py).
THIRD_PARTY = {
    "oneapi/": [],
    "dnnl": [],
    "flatbuffers/": [],  # Only the generated header includes it.
    "openssl/": ["transport/src"],
    "boost/asio": ["modules/base", "transport/src/stream", "modules/monitor"],
    "boost/beast": ["modules/monitor"],
    "nlohmann/": ["modules/json"],
    "zlib.h": ["modules/data"],
    "zstd.h": ["modules/data"],
    "zstd_errors.h": ["modules/data"],
    "lz4frame.h": ["modules/data"],
    "jerror.h": ["modules/data/src/images"],
    "jpeglib.h": ["modules/data/src/images"],
    "png.h": ["modules/data/src/images"],
    "protozero/": ["modules/convert", "modules/monitor", "modules/data"],
    "xxhash.h": ["modules/base", "modules/checkpoint", "transport"],
    "boost/": ["modules/base"],
}
# Programs and tests stand below all layers and may use anything; they are still part of the cycle check.
FREE = ("tests", "bench", "examples")

VAGUE_NAMES = re.compile(r"(^|_)(utils?|common|helpers?|misc)(_|\.)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"^[a-z_0-9]+$")
# Parts of libstdc++ that stand in for large headers, by the public headers that may name them
# (docs/decisions/light-headers.md).
STANDARD_PARTS = {"modules/base/include/shoal/base/std_function.h": "bits/std_function.h",
                  "modules/base/include/shoal/base/time.h": "bits/chrono.h"}
# What needs std::locale, which adds 0.4 MB to a static program (docs/decisions/small-programs.md).
STREAMS = {"fstream", "iomanip", "iosfwd", "iostream", "istream", "locale", "ostream", "regex", "sstream", "streambuf",
           "syncstream"}
# Debian 12's clang (14) refuses the views of Debian 12's libstdc++ (12).
VIEWS = "ranges"


class Source:
    """One file, and where it belongs."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.parts = self.name.split("/")
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.includes = [
            (number, match.group(1) == '"', match.group(2))
            for number, line in enumerate(self.text.split("\n"), 1)
            if (match := INCLUDE.match(line))
        ]

    @property
    def is_header(self):
        return self.path.suffix == ".h"

    @property
    def is_public(self):
        return self.is_header and "/include/shoal/" in self.name

    @property
    def layer(self):
        """The layer it is in, or None for programs and tests. Plug-ins belong to their interface's layer."""
        if self.parts[0] == "modules":
            return self.parts[1]
        return self.parts[0] if self.parts[0] in LAYERS else None

    @property
    def folder(self):
        """The unit that private includes stay inside: a module, an interface, one plug-in."""
        depth = 2 if self.parts[0] in ("modules", "tests", "bench", "examples") else 1
        if self.parts[0] in ("backends", "transport") and self.parts[1] not in ("include", "src"):
            depth = 2
        return "/".join(self.parts[:depth])


def sources(root):
    for top in ("modules", "backends", "transport") + FREE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield Source(root, path)


def check_layers(source):
    for number, quoted, include in source.includes:
        if not include.startswith("shoal/"):
            continue
        if not quoted:
            yield number, f'write #include "{include}", in quotes'
        target = include.split("/")[1]
        if source.layer is None:
            continue
        if target not in LAYERS:
            yield number, f"{include}: {target} is no layer"
        elif LAYERS.index(target) > LAYERS.index(source.layer):
            yield number, f"{include}: {source.layer} must not include {target}, which stands below it"
        elif target in FOR_SOURCES and source.is_public and source.layer != target:
            yield number, f"{include}: for sources only, and this header is public"


def room(source, known):
    """The room of a file, or None where its module has none."""
    if source.folder not in ROOMS:
        return None
    if source.parts[2] == "src":
        return source.parts[3] if len(source.parts) > 4 else ""
    include = source.name.split("/include/")[1]
    if include in ROOMS_OF_HEADERS:
        return ROOMS_OF_HEADERS[include]
    stem = source.path.stem
    rooms = [name for floor in ROOMS[source.folder] for name in floor]
    return next((name for name in rooms if posixpath.join(source.folder, "src", name, stem + ".cc") in known), None)


def check_rooms(source, known):
    if source.layer is None or source.folder not in ROOMS:
        deeper = source.layer and len(source.parts) > 4 and source.parts[0] == "modules" and source.parts[2] == "src"
        if deeper:
            yield 1, f"{source.folder} has no rooms: say their order in {pathlib.Path(__file__).name}"
        return
    floors = {name: floor for floor, names in enumerate(ROOMS[source.folder]) for name in names}
    own = room(source, known)
    if own not in floors:
        yield 1, f"stands in no room of {source.folder}: {', '.join(name or 'src' for name in floors)}"
        return
    for number, quoted, include in source.includes:
        target = resolve(source, include, known) if quoted else None
        if target is None or known[target].folder != source.folder:
            continue
        other = room(known[target], known)
        if other != own and other in floors and floors[other] >= floors[own]:
            yield number, f"{include}: room {own or 'src'} must not include room {other or 'src'}, which stands above or beside it"


def third_party(root):
    allowed = {start: list(folders) for start, folders in THIRD_PARTY.items()}
    for start, folder in plugins.third_party(root):
        allowed.setdefault(start, []).append(folder)
    return allowed


def check_third_party(source, allowed):
    for number, quoted, include in source.includes:
        if quoted:
            continue
        is_standard = STANDARD.match(include) or include == STANDARD_PARTS.get(source.name)
        if source.is_public and source.layer not in FOR_SOURCES and not is_standard:
            yield number, f"<{include}>: public headers include the standard library and shoal/ only"
            continue
        if source.layer is None:
            continue
        if include == VIEWS:
            yield number, "<ranges>: clang 14 does not compile libstdc++'s views; <algorithm> has std::ranges::sort() and the like"
        if include in STREAMS:
            yield number, f"<{include}>: for no source of the library or the tool, since it needs std::locale"
        for start, folders in allowed.items():
            if include.startswith(start):
                if not any((source.name + "/").startswith(folder + "/") for folder in folders):
                    yield number, f"<{include}>: only for {', '.join(folders) or 'plug-ins that say so'}"
                break


def check_private(source, known):
    """Quoted includes outside shoal/ are private headers of the same folder."""
    for number, quoted, include in source.includes:
        if not quoted or include.startswith("shoal/") or include.endswith("_generated.h"):
            continue
        if resolve(source, include, known) is None:
            yield number, f'"{include}": no private header of {source.folder}'


def check_text(source):
    if source.is_header and not source.text.removeprefix(LICENCE).startswith("#pragma once\n"):
        yield 1, "a header begins with #pragma once, behind its licence"
    if VAGUE_NAMES.search(source.parts[-1]):
        yield 1, "a file is named for what it does, not utils, common or helpers"


def resolve(source, include, known):
    """The known file that `include` means in `source`, or None."""
    if include.startswith("shoal/"):
        layer = include.split("/")[1]
        for top in (f"modules/{layer}", layer):
            if f"{top}/include/{include}" in known:
                return f"{top}/include/{include}"
        return None
    beside = "/".join(source.parts[:-1])
    # A plug-in may look into the sources of its interface.
    for folder in (beside, f"{source.folder}/src", source.folder, f"{source.parts[0]}/src"):
        if f"{folder}/{include}" in known:
            return f"{folder}/{include}"
    if source.layer is None:  # programs and tests share headers with their like, and may look inside a module
        path = posixpath.normpath(f"{beside}/{include}")
        return next((name for name in known if name == path or name.endswith("/" + include)), None)
    return None


def check_cycles(known):
    """Each cycle once, at the file that closes it."""
    state = {}

    def visit(name, trail):
        state[name] = "open"
        for number, quoted, include in known[name].includes:
            target = resolve(known[name], include, known) if quoted else None
            if target is None:
                continue
            if state.get(target) == "open":
                circle = trail[trail.index(target):] + [target] if target in trail else [name, target]
                yield name, number, "closes a circle of includes: " + " -> ".join(circle)
            elif target not in state:
                yield from visit(target, trail + [target])
        state[name] = "done"

    for name in known:
        if name not in state:
            yield from visit(name, [name])


# Units that are one thing in two files.
KNIT = [
    {"backends/src/team", "backends/src/threads"},
    {"modules/base/src/virtual_environment", "modules/base/src/virtual_world"},
    {"transport/sim/network", "transport/sim/wire"},
]


def check_units(known):
    """A header and the source of its name are one unit: those of a module's sources make no circles either. (Public headers
    are left out: who implements one may use what includes it.)"""
    units, lines = {}, {}
    for name, source in known.items():
        if source.layer is None or source.is_public:
            continue
        unit = name.rsplit(".", 1)[0]
        edges = units.setdefault(unit, set())
        for number, quoted, include in source.includes:
            target = resolve(source, include, known) if quoted else None
            if target is None or known[target].is_public or target.rsplit(".", 1)[0] == unit:
                continue
            if {unit, target.rsplit(".", 1)[0]} in KNIT:
                continue
            edges.add(target.rsplit(".", 1)[0])
            lines.setdefault((unit, target.rsplit(".", 1)[0]), (name, number))
    state = {}

    def visit(unit, trail):
        state[unit] = "open"
        for other in sorted(units.get(unit, ())):
            if state.get(other) == "open":
                name, number = lines[unit, other]
                circle = trail[trail.index(other):] + [other]
                yield name, number, "closes a circle of headers and their sources: " + " -> ".join(circle)
            elif other not in state:
                yield from visit(other, trail + [other])
        state[unit] = "done"

    for unit in sorted(units):
        if unit not in state:
            yield from visit(unit, [unit])


def check_tests(root):
    listing = root / "tests" / "CMakeLists.txt"
    words = set(re.findall(r"[\w-]+", listing.read_text())) if listing.exists() else set()
    for test in sorted((root / "tests").rglob("*_test.cc")):
        folder = test.relative_to(root / "tests").parts[0]
        if folder not in words or not (root / "tests" / folder / "CMakeLists.txt").exists():
            yield test.relative_to(root).as_posix(), 1, f"tests/CMakeLists.txt does not build the folder {folder}"


def breaches(root):
    root = pathlib.Path(root)
    known = {source.name: source for source in sources(root)}
    if not known:
        yield "", 0, f"no sources below {root}"
    allowed = third_party(root)
    for name, source in known.items():
        for check in (check_layers(source), check_third_party(source, allowed), check_private(source, known), check_rooms(source, known),
                      check_text(source)):
            for number, sentence in check:
                yield name, number, sentence
    yield from check_cycles(known)
    yield from check_units(known)
    yield from check_tests(root)


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(breaches(argv[1]))
    for name, number, sentence in found:
        print(f"{name}:{number}: {sentence}")
    print(f"{len(found)} breaches of the dependency rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
