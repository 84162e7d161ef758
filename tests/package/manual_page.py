#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of `shoal` names the commands that the program has, and no others; its flags are flags of the program, and groff
finds nothing to warn of.

usage: manual_page.py SHOAL PAGE
"""
import pathlib
import re
import shutil
import subprocess
import sys


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def commands_of(program, *above):
    """{words of each command that has no other below it: its help}, as ("keys", "token")."""
    text = help_of(program, *above)
    below = re.split(r"^Commands:$", text, maxsplit=1, flags=re.MULTILINE)[-1]
    below = below if below != text else ""
    names = re.findall(r"^  (\w+) ", below, re.MULTILINE)
    if not names:
        return {above: text}
    found = {}
    for name in names:
        found |= commands_of(program, *above, name)
    return found


def main():
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    text = page.read_text()
    has = commands_of(program)
    if len(has) < 10:
        sys.exit(f"only {sorted(has)} are found in what --help prints; has its form changed?")
    section = text.partition(".SH COMMANDS")[2].partition(".SH EXIT STATUS")[0]
    named = {tuple(words.split()) for words in re.findall(r'^\.BI? "?shoal ([a-z ]+?) ?(?:".*)?$', section, re.MULTILINE)}
    if lost := {" ".join(words) for words in has.keys() ^ named}:
        sys.exit(f"the page or the program lacks: {', '.join(sorted(lost))}")
    flags = set(re.findall(r"--[a-z][a-z-]+", text.replace("\\-", "-")))
    # Of the program that the page launches.
    if unknown := flags - {"--help", "--model-dir"} - set(re.findall(r"--[a-z-]+", "".join(has.values()))):
        sys.exit(f"the page has flags that the program has not: {', '.join(sorted(unknown))}")
    if shutil.which("groff"):
        said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        if said.stdout:
            sys.exit(said.stdout)
    print(f"{len(named)} commands and {len(flags)} flags are on the page")


if __name__ == "__main__":
    main()
