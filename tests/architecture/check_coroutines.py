#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must not stand in one expression with co_await, checked on the source text.

usage: check_coroutines.py ROOT      prints every breach as FILE:LINE: SENTENCE and ends with status 1 if there is one

g++ 12 destroys some temporaries of an expression with co_await twice: capturing lambdas, aggregates, and what a
conditional expression chooses. Nothing warns of it, and the crash comes at some later time, so the rule is to name such a
value before the co_await. This reads text, not types: braces that hold nothing are let through, for they are mostly
strings and spans; a braced list with something in it is taken for an aggregate.
"""
import pathlib
import re
import sys

TOPS = ("modules", "backends", "transport", "tests", "bench", "examples")

NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/'  # comments
    r'|R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'  # strings
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",  # characters; the ' of 1'000 is none
    re.DOTALL)
AWAIT = re.compile(r"(?<!operator )\bco_await\b")
# A [ after a name, a bracket or a string is an index; [[ begins an attribute.
LAMBDA = re.compile(r'(?<![\w)\]"\[])\s*\[(?!\[)\s*(?P<captures>[^\[\]]*?)\s*\]\s*(?:[({<]|mutable\b)')
# Braces with something in them, unless they are the body of a lambda.
BRACES = re.compile(r"(?P<before>[^\s{]*)\s*\{\s*[^\s}]")
BODY = re.compile(r".*[)\]]|(.*[)\]])?(mutable|noexcept)", re.DOTALL)
OPENING, CLOSING = "([{", ")]}"


def code_of(text):
    """The text without comments and with empty strings; every line keeps its number."""
    return NO_CODE.sub(lambda found: '""' + "\n" * found.group().count("\n"), text)


def operand(code, start):
    """What co_await at `start` awaits, to the end of its argument or statement."""
    depth = 0
    for i in range(start, len(code)):
        if code[i] in OPENING:
            depth += 1
        elif code[i] in CLOSING:
            depth -= 1
        if depth < 0 or (depth == 0 and code[i] in ";,"):
            return code[start:i]
    return code[start:]


def chosen_by_condition(code, position):
    """Whether what stands at `position` is in a branch of a ?: of the same statement."""
    skipped = 0  # brackets closed on the way back: what is inside them is no part of the way
    other_argument = False
    after = ""  # the character behind the one at i, blanks left out
    for i in range(position - 1, -1, -1):
        c = code[i]
        if c in CLOSING:
            if c == "}" and skipped == 0 and after not in tuple(":?,)."):
                return False  # the end of the statement before, not of a braced value
            skipped += 1
        elif c in OPENING and skipped > 0:
            skipped -= 1
        elif skipped == 0:
            if c in ";{":
                return False
            if c == "?" and not other_argument:
                return True
            if c == ",":
                other_argument = True
            elif c in OPENING:
                other_argument = False  # out of the call, which may stand in a branch itself
        if not c.isspace():
            after = c
    return False


def breaches_in(text):
    """(line, sentence) of every breach in the text of one file."""
    code = code_of(text)
    for found in AWAIT.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        awaited = operand(code, found.end())
        if chosen_by_condition(code, found.start()):
            yield line, "co_await in a branch of ?:, whose result g++ 12 destroys twice; write if and else"
        if any(closure.group("captures") for closure in LAMBDA.finditer(awaited)):
            yield line, "a capturing lambda in a co_await expression is destroyed twice by g++ 12; name it first"
        elif any(not BODY.fullmatch(braces.group("before")) for braces in BRACES.finditer(awaited)):
            yield line, "an aggregate in a co_await expression is destroyed twice by g++ 12; name it first"


def breaches(root):
    root = pathlib.Path(root)
    paths = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".h", ".cc")]
    if not paths:
        yield "", 0, f"no sources below {root}"
    for path in paths:
        for line, sentence in breaches_in(path.read_text(encoding="utf-8", errors="replace")):
            yield path.relative_to(root).as_posix(), line, sentence


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(breaches(argv[1]))
    for name, line, sentence in found:
        print(f"{name}:{line}: {sentence}")
    print(f"{len(found)} breaches of the rules for coroutines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
