#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That Shoal compiles without C++ exceptions (SHOAL_EXCEPTIONS=OFF, as the preset `minimal` has it).

usage: check_exceptions.py ROOT      prints every breach as FILE:LINE: SENTENCE and ends with status 1 if there is one

A source may throw and catch only behind `#if defined(__cpp_exceptions)`, or if its folder's CMakeLists.txt names it in
shoal_catching(). Sources that include a library that throws (protozero) have to stand there as well. Parts that such a build leaves
out are free.
"""
import pathlib
import re
import sys

# Parts that the root CMakeLists.txt refuses without exceptions, and what only tests use.
LEFT_OUT = ("modules/convert/", "modules/testing/", "modules/monitor/src/http_", "modules/monitor/src/metrics_", "backends/onednn/",
            "transport/tcp/tls", "transport/src/tls", "transport/sim/")
WORD = re.compile(r"\b(try\s*\{|catch\s*\(|throw\b)")
THROWING = re.compile(r'#\s*include\s*<protozero/')
QUOTED = re.compile(r'#\s*include\s*"([^"]+)"')
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/')


def catching(root):
    """The sources that shoal_catching() names."""
    found = set()
    for listing in [*root.glob("modules/*/CMakeLists.txt"), *root.glob("backends/**/CMakeLists.txt"), *root.glob("transport/**/CMakeLists.txt")]:
        for call in re.findall(r"shoal_catching\(([^)]*)\)", listing.read_text()):
            found |= {(listing.parent / name).relative_to(root).as_posix() for name in call.split()}
    return found


def guarded_lines(lines):
    """For each line whether it stands behind #if defined(__cpp_exceptions)."""
    stack = []
    for line in lines:
        words = line.strip()
        if words.startswith("#if"):
            stack.append("defined(__cpp_exceptions)" in words and "!defined" not in words)
        elif words.startswith(("#else", "#elif")) and stack:
            stack[-1] = False
        elif words.startswith("#endif") and stack:
            stack.pop()
        yield any(stack)


def throws(path, text, root):
    """Whether a source includes a library that throws, by itself or by a header beside it."""
    if THROWING.search(text):
        return True
    headers = (path.parent / name for name in QUOTED.findall(text) if not name.startswith("shoal/"))
    return any(header.is_file() and THROWING.search(header.read_text()) for header in headers)


def breaches(root):
    root = pathlib.Path(root)
    known = catching(root)
    paths = [path for top in ("modules", "backends", "transport") for path in sorted((root / top).rglob("*")) if path.suffix in (".h", ".cc")]
    if not paths:
        yield "", 0, f"no sources below {root}"
    for path in paths:
        name = path.relative_to(root).as_posix()
        if name in known or name.startswith(LEFT_OUT):
            continue
        text = path.read_text()
        if path.suffix == ".cc" and throws(path, text, root):
            yield name, 1, "includes protozero, which throws: name the source in shoal_catching() of its folder"
        lines = text.split("\n")
        for number, (line, guarded) in enumerate(zip(lines, guarded_lines(lines)), 1):
            if not guarded and WORD.search(TEXT.sub("", line)):
                yield name, number, "throws or catches: put it behind #if defined(__cpp_exceptions), or name the source in shoal_catching()"
    for name in sorted(known):
        if not (root / name).is_file():
            yield name, 1, "shoal_catching() names a source that is not there"


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(breaches(argv[1]))
    for name, number, sentence in found:
        print(f"{name}:{number}: {sentence}")
    print(f"{len(found)} places that a build without exceptions does not compile")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
