# SPDX-License-Identifier: Apache-2.0
"""What the linker put into a program of a build by ninja: the program is linked once more, to another file, with a map."""
import re
import shlex
import subprocess

ARCHIVE = re.compile(r"\S*ar qc (\S+\.a) ")


def link_command(build, program):
    """The command that makes the program of its parts. That of a shared library has the making of links to it behind it."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    commands = [part.strip() for line in reversed(said.splitlines()) for part in line.split("&&")]
    return next(command for command in commands if " -o " in command or ARCHIVE.match(command))


def link_again(build, command, made, where, *options):
    """Links into the file `made`, with the map in the file `where`."""
    words = shlex.split(command)
    words[words.index("-o") + 1] = str(made)
    subprocess.run([*words, *options, f"-Wl,-Map={where}"], cwd=build, check=True)


SECTION = re.compile(r"^ (\.\S+|COMMON)$")
PART = re.compile(r"^ (\.\S+|COMMON)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$")
MEMBER = re.compile(r"^(.*?)\(([^)]*)\)$")


def parts_of(text):
    """(section, bytes, file, member of that archive or "") of all that takes room in the program's file."""
    section = ""
    for line in text.partition("Linker script and memory map")[2].splitlines():
        if alone := SECTION.match(line):
            section = alone.group(1)  # its numbers stand in the next line
        elif part := PART.match(line):
            name, address, size, file = part.groups()
            section = name or section
            if int(address, 16) and int(size, 16) and not section.startswith((".debug", ".comment", ".note", ".bss", ".tbss", "COMMON")):
                member = MEMBER.match(file)
                yield section, int(size, 16), member.group(1) if member else file, member.group(2) if member else ""
