#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/protocol.md lists each message, field, verb and status of the code, and nothing else.

usage: check_protocol.py ROOT
"""
import pathlib
import re
import sys

PAGE = "docs/protocol.md"
SCHEMA = "transport/messages.fbs"
MESSAGE = "transport/include/shoal/transport/message.h"
STATUS = "modules/cluster/include/shoal/cluster/protocol.h"
TEXTS = ("modules/cluster/src/state/protocol.cc", "modules/cluster/src/job/rendezvous/messages.cc",
         "modules/cluster/src/job/task_status.cc")
SPEAKERS = ("modules/cluster", "transport/auto")  # Sources that say or understand verbs.

# Words in the tables of texts that are values and no fields.
VALUES = {"max_steps", "end_of_input"}
# Texts of "release", "residuals" and "rest" in the table of verbs, which are no verbs.
WORDS_OF_VERBS = {"now", "saved"}

VERB_IN_CODE = re.compile(r'(?:kVerb = |control\(|verb == |make_control\([^"()]*\(\), |say\([^"()]*|make_word\([^"()]*|'
                          r'tell_all\(|Verb = )"([a-z_]+)"')


def tables(text):
    """Rows of all tables of a page, as lists of cells."""
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def section(page, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def words(cell):
    return set(re.findall(r"`(\w+)`", cell))


def bodies_of_schema(schema):
    """Each table of messages.fbs but the root, with its fields."""
    found = {}
    for name, body in re.findall(r"^table (\w+) \{(.*?)^\}", schema, re.MULTILINE | re.DOTALL):
        if name != "Body":
            found[name] = set(re.findall(r"^\s*(\w+):", body, re.MULTILINE))
    return found


def bodies_of_page(page):
    found = {}
    for name, body in re.findall(r"^\*\*(\w+)\*\*(.*?)(?=^\*\*|^## )", section(page, "Bodies") + "## ", re.MULTILINE | re.DOTALL):
        found[name] = set().union(*(words(row[0]) for row in tables(body)))
    return found


def head_fields(message):
    body = re.search(r"^struct MessageHead \{(.*?)^\s*friend", message, re.MULTILINE | re.DOTALL).group(1)
    return set(re.findall(r"^\s*\w+ (\w+) = ", body, re.MULTILINE))


def kinds_of_code(message):
    body = re.search(r"^enum class MessageKind[^{]*\{(.*?)^\};", message, re.MULTILINE | re.DOTALL).group(1)
    return set(re.findall(r"(k\w+) = (\d+)", body))


def statuses_of_code(header):
    found = re.findall(r"^inline constexpr uint8_t (kStatus\w+) = (\w+);", header, re.MULTILINE)
    return {(name, int(value, 0)) for name, value in found if name != "kStatusStateMask"}


def json_fields(sources):
    return {name for text in sources for name in re.findall(r'\{"(\w+)", |message\["(\w+)"\]', text) for name in name if name}


def differences(what, code, page):
    for name in sorted(code - page):
        yield f"{PAGE} lacks {what} {name}"
    for name in sorted(page - code):
        yield f"{PAGE} names {what} {name}, which the code does not have"


def problems(root):
    read = lambda name: (root / name).read_text(encoding="utf-8")
    page, message = read(PAGE), read(MESSAGE)
    version = re.search(r"kProtocolVersion = (\d+)", message).group(1)
    if f"The protocol has version {version} " not in page:
        yield f"{PAGE} does not say that the protocol has version {version}"
    of_page = bodies_of_page(page)
    for name, fields in bodies_of_schema(read(SCHEMA)).items():
        yield from differences(f"in {name} the field", fields, of_page.get(name, set()))
    of_head = set().union(*(words(row[0]) for row in tables(section(page, "Head"))))
    yield from differences("in the head the field", head_fields(message), of_head)
    kinds = {(row[0].strip("`"), row[1]) for row in tables(section(page, "Kinds")) if row[0].startswith("`")}
    yield from differences("the kind", {" ".join(kind) for kind in kinds_of_code(message)}, {" ".join(kind) for kind in kinds})
    statuses = {(row[0].strip("`"), int(row[1], 0)) for row in tables(section(page, "Status")) if row[0].startswith("`k")}
    yield from differences("the status", {f"{name} {value}" for name, value in statuses_of_code(read(STATUS))},
                           {f"{name} {value}" for name, value in statuses})
    rows = tables(section(page, "Texts"))
    rendezvous = tables(section(page, "Rendezvous"))
    texts = [row for row in rows if row[0] != "text"] + [row for row in rendezvous if len(row) == 2 and row[0] != "text"]
    fields = set().union(*(words(row[1]) for row in texts)) - VALUES
    yield from differences("the field of a text", json_fields([read(name) for name in TEXTS]), fields)
    verbs = [row for row in tables(section(page, "Verbs")) + rendezvous if len(row) > 2 and row[0].startswith("`")]
    of_verbs = set().union(*(words(row[0]) | words(row[4]) for row in verbs)) - WORDS_OF_VERBS
    sources = [path for folder in SPEAKERS for kind in ("h", "cc") for path in sorted((root / folder).rglob(f"*.{kind}"))]
    said = {verb for path in sources for verb in VERB_IN_CODE.findall(path.read_text(encoding="utf-8"))}
    said |= {verb for path in sources for verb in re.findall(r'more \? "(\w+)" : "\w+"', path.read_text(encoding="utf-8"))}
    said |= {verb for path in sources for verb in re.findall(r'more \? "\w+" : "(\w+)"', path.read_text(encoding="utf-8"))}
    yield from differences("the verb", said, of_verbs)


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or f"{PAGE} lists each message, field, verb and status of the code")
    sys.exit(bool(found))
