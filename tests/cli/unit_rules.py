# SPDX-License-Identifier: Apache-2.0
"""How systemd reads a unit and Slurm a batch script, as far as `shoal launch --emit` uses them: what a task is really started with,
how often, and how long it has to leave. Every rule names the manual page that has it. systemd itself reads the same units in
emit_test.py, where it is installed; the rules here are always there."""
import re

from manifest_rules import UNLIMITED, Effective, expect

# --- systemd.syntax(7)


# Unicode, section 23.7. systemd (src/basic/utf8.c) takes a text with one for no UTF-8, and ignores its line.
NONCHARACTERS = re.compile("[\ufdd0-\ufdef" + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xfffe, 0xffff)) + "]")


def lines_of(text):
    """Logical lines: comments away, a backslash at the end joins the next line with a blank between."""
    expect(not NONCHARACTERS.search(text), "a line would be ignored")
    joined, held = [], ""
    for line in text.split("\n"):
        if line.lstrip().startswith(("#", ";")):
            continue
        expect(len(line) < 2**20, "a line is too long")  # LONG_LINE_MAX
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        joined.append(held + line)
        held = ""
    return joined


def settings_of(text):
    """[(section, name, value)]"""
    section, settings = None, []
    for line in lines_of(text):
        line = line.strip()
        if not line:
            continue
        expect("\0" not in line, "a line has a zero byte")
        if line.startswith("["):
            expect(line in ("[Unit]", "[Service]", "[Install]"), f"{line} is no section of a service")
            section = line[1:-1]
            continue
        setting, equals, value = line.partition("=")
        expect(equals and section, f"{line!r} is no setting")
        settings.append((section, setting.strip(), value.strip()))
    return settings


ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"', "'": "'", "s": " "}


def unescaped(text):
    """systemd.syntax(7), "Quoting": the escapes of C; bytes by \\x and octal digits."""
    out, at = bytearray(), 0
    data = text.encode("utf-8", "surrogateescape")
    while at < len(data):
        if data[at:at + 1] != b"\\":
            out += data[at:at + 1]
            at += 1
            continue
        rest = data[at + 1:].decode("latin-1")
        if found := re.match(r"x([0-9a-fA-F]{2})|([0-3][0-7]{2})", rest):
            value = int(found[1], 16) if found[1] else int(found[2], 8)
            expect(value != 0, "a zero byte cannot be")
            out.append(value)
            at += 1 + found.end()
        elif found := re.match(r"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})", rest):
            out += chr(int(found[1] or found[2], 16)).encode()
            at += 1 + found.end()
        else:
            expect(rest[:1] in ESCAPES, f"\\{rest[:1]} is no escape")
            out += ESCAPES[rest[0]].encode()
            at += 2
    return out.decode("utf-8", "surrogateescape")


def words_of(value):
    """Words with quotes away, not yet unescaped: [(word, was it quoted)]."""
    words, at = [], 0
    while at < len(value):
        if value[at] in " \t\n\r":
            at += 1
            continue
        if value[at] in "\"'":
            end = at + 1
            while end < len(value) and value[end] != value[at]:
                end += 2 if value[end] == "\\" else 1
            expect(end < len(value), "a quote is not closed")
            expect(end + 1 == len(value) or value[end + 1] in " \t\n\r", "something follows a quote")
            words.append((value[at + 1:end], True))
            at = end + 1
        else:
            found = re.match(r"(\\.|[^\s\"'\\])+", value[at:])
            expect(found, f"{value[at:]!r}: is no word")
            words.append((found[0], False))
            at += found.end()
    return words


def specified(word, instance):
    """systemd.unit(5), "Specifiers": %% and %i; whatever else a manifest of ours has there is a mistake of ours."""
    def one(found):
        expect(found[1] in ("%", "i"), f"%{found[1]} is a specifier")
        return "%" if found[1] == "%" else instance
    return re.sub(r"%(.?)", one, word)


def strings_of(value, instance):
    return [specified(unescaped(word), instance) for word, _ in words_of(value)]


TIME_UNITS = {"": 1, "s": 1, "sec": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600, "d": 86400}


def seconds_of(value):
    """systemd.time(7), "Parsing time spans"."""
    if value == "infinity":
        return UNLIMITED
    found = re.fullmatch(r"((\d+(?:\.\d+)?)(us|ms|sec|s|min|h|d|))+", value.replace(" ", ""))
    expect(found, f"{value!r} is no time span")
    return sum(float(number) * TIME_UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(us|ms|sec|s|min|h|d|)", value))


def path_of(word):
    """systemd.exec(5), ReadWritePaths=: absolute; a name with . or .. in it is not normalized, and what a path is may have no
    quotes, backslashes or control characters (src/basic/string-util.h, string_is_safe)."""
    expect(word.startswith("/"), f"{word!r} does not begin with /")
    expect(not re.search(r"/\.{1,2}(/|$)", word), f"{word!r} is not normalized")
    expect(not re.search(r"[\"'\\\x00-\x1f\x7f]", word) and not NONCHARACTERS.search(word), f"{word!r} has signs that a path may not have")
    return word


def command_of(value, instance):
    """systemd.service(5), "Command lines": prefixes before the program; the colon among them keeps variables as they are."""
    words = words_of(value)
    first = unescaped(words[0][0])
    prefix = re.match(r"[@\-:+!]*", first)[0]
    expect("@" not in prefix, "the second word would be the program's name for itself")
    expect((";", False) not in words, "a second command begins")
    program = path_of(specified(first[len(prefix):], instance))
    expect(not program.endswith("/"), "a program is no folder")
    arguments = strings_of(value, instance)[1:]
    if ":" not in prefix:
        for word in arguments:
            expect("$" not in word, f"{word!r} has a variable")
    return [program, *arguments]


KNOWN = {
    "Unit": {"Description", "Wants", "After", "RequiresMountsFor", "StartLimitIntervalSec", "StartLimitBurst"},
    "Service": {"Type", "User", "Environment", "EnvironmentFile", "ExecStart", "Restart", "RestartPreventExitStatus", "SuccessExitStatus",
                "RestartForceExitStatus", "RestartSec", "KillMode", "TimeoutStopSec", "NoNewPrivileges", "CapabilityBoundingSet",
                "ProtectSystem", "ReadWritePaths", "ProtectHome", "PrivateTmp", "ProtectControlGroups", "ProtectKernelModules",
                "ProtectKernelTunables", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality"},
    "Install": {"WantedBy"}}


def restarts_of(one, restart):
    """systemd.unit(5), StartLimitIntervalSec=, StartLimitBurst=: so many starts in so long a time, the first one among them; 0 of
    either is no limit. A limit that restarts are too slow to reach is none, too."""
    if restart == "no":
        return 0
    expect(restart in ("on-failure", "always", "on-abnormal"), f"Restart={restart}")
    burst, interval = int(one.get("StartLimitBurst", "5")), seconds_of(one.get("StartLimitIntervalSec", "10s"))
    if burst == 0 or interval == 0:
        return UNLIMITED
    pause = seconds_of(one.get("RestartSec", "100ms"))
    return burst - 1 if interval is UNLIMITED or (burst - 1) * pause < interval else UNLIMITED


def after_status(one, restart):
    """systemd.service(5): RestartPreventExitStatus= comes before RestartForceExitStatus=, which comes before Restart=."""
    statuses = lambda setting: {int(status) for status in one.get(setting, "").split()}
    def what(status):
        if status in statuses("RestartPreventExitStatus"):
            return "failed"
        if status in statuses("RestartForceExitStatus"):
            return "again"
        if status == 0 or status in statuses("SuccessExitStatus"):
            return "done"
        return "failed" if restart == "no" else "again"
    return {status: what(status) for status in (0, 1, 2, 3, 4, 5, 137, 143)}


def systemd(unit, instance):
    """What comes of the unit for this instance."""
    expect(unit.endswith("\n"), "the last line does not end")
    settings = settings_of(unit)
    for section, setting, _ in settings:
        expect(setting in KNOWN[section], f"{setting}= is no setting of [{section}]")
    one = {setting: value for _, setting, value in settings if setting != "Environment"}
    environment = {}
    for _, setting, value in settings:
        for word in strings_of(value, instance) if setting == "Environment" else []:
            variable, equals, text = word.partition("=")
            expect(equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable), f"{word!r} is no variable")
            environment[variable] = text
    writes = [path_of(word) for word in strings_of(one["ReadWritePaths"], instance)]
    expect([path_of(word) for word in strings_of(one["RequiresMountsFor"], instance)] == writes, "other folders are waited for")
    argv = command_of(one["ExecStart"], instance)
    if one.get("PrivateTmp") == "yes":  # systemd.exec(5), PrivateTmp=: both folders are the unit's own, and go with it
        for path in [argv[0], *writes]:
            expect(not re.match(r"/(var/)?tmp(/|$)", path), f"{path} would be another folder")
    stop = seconds_of(one.get("TimeoutStopSec", "90s"))
    restart = one.get("Restart", "no")
    return Effective(argv=argv, environment=environment, secrets={"EnvironmentFile": one["EnvironmentFile"]},
                     restarts=restarts_of(one, restart), stop_seconds=stop or UNLIMITED,  # systemd.service(5), TimeoutStopSec=: 0 is none
                     after=after_status(one, restart), writes=writes, names=[])


# --- sbatch(1), srun(1)


def sbatch(script):
    """{option: value} of a script that sbatch takes. sbatch(1): options stand in comments before the first command; a script has an
    interpreter, and no DOS line ends."""
    expect(script.startswith("#!/"), "this does not look like a batch script")
    expect("\r\n" not in script, "the script has DOS line breaks")
    expect("\0" not in script and len(script.encode()) < 4 * 2**20, "the script is too long, or has a zero byte")
    options = {}
    for line in script.split("\n")[1:]:
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH "):
            option, _, value = line[len("#SBATCH "):].partition("=")
            options[option] = value
    return options


# srun(1), "HETEROGENEOUS": a word ":" ends one program's words and begins another's, wherever it stands behind srun's options.
SRUN = """#!/bin/bash
while [[ ${1-} == --* ]]; do printf '%s\\n' "$1" >> "$SRUN_OPTIONS"; shift; done
words=()
for word in "$@"; do [ "$word" = : ] && { echo "srun: two programs" >&2; exit 9; }; words+=("$word"); done
exec "${words[@]}"
"""
