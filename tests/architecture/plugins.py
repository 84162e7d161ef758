# SPDX-License-Identifier: Apache-2.0
"""What plug-ins may do that others may not, as their own folders say: a transport or a backend is added without a list elsewhere.

In the CMakeLists.txt of a folder that calls shoal_plugin() or shoal_module() below transport/ or backends/:

  # may: FILES KINDS...: REASON      for check_escapes.py; FILES is a pattern of names in that folder
  # includes: STARTS...              for check_includes.py; what headers of other libraries begin with
"""
import pathlib
import re

TOPS = ("backends", "transport")
MAY = re.compile(r"^# may: (\S+) ([a-z ]+): (\S.*)$", re.MULTILINE)
INCLUDES = re.compile(r"^# includes: (\S.*)$", re.MULTILINE)


def _folders(root):
    """(name, text of its CMakeLists.txt) of each folder right below TOPS that has one."""
    for top in TOPS:
        for path in sorted((pathlib.Path(root) / top).glob("*/CMakeLists.txt")):
            yield f"{top}/{path.parent.name}", path.read_text(encoding="utf-8")


def permissions(root):
    """(pattern from the root, kinds, reason)."""
    for folder, text in _folders(root):
        for files, kinds, reason in MAY.findall(text):
            yield f"{folder}/{files}", kinds, reason


def third_party(root):
    """(start of an include, folder)."""
    for folder, text in _folders(root):
        for line in INCLUDES.findall(text):
            for start in line.split():
                yield start, folder
