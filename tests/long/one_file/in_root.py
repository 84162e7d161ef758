#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of another processor in a root of its own: in_root.py ROOT EMULATOR PROGRAM [ARGUMENTS...]. PROGRAM lies in ROOT, where
the emulator does not: it is opened first, and executed by its descriptor."""
import os
import pathlib
import sys

root, emulator, program, *arguments = sys.argv[1:]
descriptor = os.open(emulator, os.O_RDONLY)
inside = "/" + str(pathlib.Path(program).relative_to(root))
os.chroot(root)
os.chdir("/")
os.execve(descriptor, [emulator, inside, *arguments], os.environ)
