#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No variable of the library has a destructor that runs as a program exits, checked on the compiled libraries.

usage: check_exit.py LIBRARY...        prints every such variable's function and ends with status 1 if there is one

A variable of the user's may outlive ours, and its destructor may still train or predict. So what the library makes once and keeps is
made by forever() (shoal/base/forever.h). The compiler registers the others by a call of __cxa_atexit(), in the function that makes
the variable, or in one that runs before main(). Variables of other libraries' headers are left alone.
"""
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
CALL = re.compile(r"\b__cxa_atexit\b")
DESTRUCTOR = re.compile(r"R_\S+\s+(\S.*::~.*)")
BEFORE_MAIN = ("_GLOBAL__sub_I_", "__static_initialization_and_destruction_0")
OF_OTHERS = ("CLI::", "boost::", "std::ios_base::Init::")


def breaches_in(disassembly):
    """The functions of ours that register a destructor, in what `objdump -drC` prints."""
    found, function, destructors = set(), "", []
    for line in disassembly.splitlines():
        if begun := FUNCTION.match(line):
            function, destructors = begun[1], []
        elif destructor := DESTRUCTOR.search(line):
            destructors.append(destructor[1])
        elif CALL.search(line):
            if function.startswith("shoal::"):
                found.add(function)
            elif function.startswith(BEFORE_MAIN):
                found.update(f"{function}: {name}" for name in destructors if not name.startswith(OF_OTHERS))
            destructors = []
    return sorted(found)


def disassembly_of(library):
    """Of the parts of the library that register a destructor at all."""
    ended = subprocess.run(["nm", "-A", "-u", library], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    parts = {line.split(":")[-2] for line in ended.stdout.splitlines() if CALL.search(line)}
    for part in sorted(parts):
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            subprocess.run(["ar", "p", library, part], stdout=file, check=True)
            yield subprocess.run(["objdump", "-drC", file.name], stdout=subprocess.PIPE, text=True, check=True).stdout


def main(libraries):
    breaches = 0
    for library in libraries:
        for function in sorted({name for text in disassembly_of(library) for name in breaches_in(text)}):
            print(f"{library}: {function}: a variable is destroyed as the program exits; forever() keeps it (shoal/base/forever.h)")
            breaches += 1
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
