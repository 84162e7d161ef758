# SPDX-License-Identifier: Apache-2.0
"""Writes and reads tar archives by Python's tarfile, independent of Shoal.

    tar_archives.py write FILE FORMAT             FORMAT: ustar, gnu or pax. An archive with all that a reader passes over.
    tar_archives.py list FILE                     for each entry a line with its name, size, mode, owner and time; then its
                                                  contents, if it is a file of less than 1 MiB.
    tar_archives.py samples FILE [EXTENSION...]   for each sample a line with its key; then for each file, by extension, a
                                                  line with extension and size, and the contents.
"""
import io
import random
import sys
import tarfile


def entries():
    """(type, name, contents) of an archive with all that a reader has to pass over."""
    draw = random.Random(5)
    yield tarfile.DIRTYPE, "train", None
    yield tarfile.REGTYPE, "train/a.jpg", b"first"
    yield tarfile.REGTYPE, "train/a.CLS", b"7"
    yield tarfile.SYMTYPE, "train/b.link", None
    yield tarfile.REGTYPE, "train/a.empty", b""
    yield tarfile.REGTYPE, "readme", b"no extension"
    yield tarfile.REGTYPE, ".hidden.jpg", b"no key"
    yield tarfile.REGTYPE, "__index__/a.json", b"{}"
    yield tarfile.REGTYPE, "train/b.seg.png", bytes(range(256)) * 2
    yield tarfile.LNKTYPE, "train/b.hard", None
    yield tarfile.FIFOTYPE, "train/b.pipe", None
    yield tarfile.CHRTYPE, "train/b.device", None
    yield tarfile.REGTYPE, "train/b.jpg", draw.randbytes(70000)
    yield tarfile.REGTYPE, "d.ir/c.txt", b"x" * 512
    yield tarfile.REGTYPE, "d.ir/no_extension", b"x" * 513
    yield tarfile.REGTYPE, "d.ir/\u00e4\u00f6 \u6f22\u5b57.txt", "\u00e4".encode()
    yield tarfile.REGTYPE, "p" * 80 + "/" + "n" * 90 + ".txt", b"in two parts"


def long_entries():
    """What ustar has no room for."""
    yield tarfile.REGTYPE, "l" * 300 + ".txt", b"long"
    yield tarfile.SYMTYPE, "link", None
    yield tarfile.REGTYPE, "f/" * 200 + "g" * 150 + "." + "e" * 120, b"longer"
    yield tarfile.REGTYPE, "\u6f22" * 200 + ".txt", b"longest"
    yield tarfile.REGTYPE, "last.txt", b"last"


def write(path, archive_format):
    formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    headers = {"comment": "for all entries"} if archive_format == "pax" else None
    with tarfile.open(path, "w", format=formats[archive_format], pax_headers=headers) as archive:
        for kind, name, contents in [*entries(), *(long_entries() if archive_format != "ustar" else ())]:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mtime = 1700000000.25 if archive_format == "pax" else 1700000000
            info.uid = 10**9 if archive_format == "gnu" else 1000
            info.linkname = "t" * 150 if kind == tarfile.SYMTYPE and archive_format != "ustar" else "train/a.jpg"
            info.size = len(contents or b"")
            archive.addfile(info, io.BytesIO(contents) if contents is not None else None)


def put(line, contents=b""):
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n" + contents)


def show(path):
    with tarfile.open(path) as archive:
        for info in archive:
            small = info.isreg() and info.size < 1 << 20
            put(f"{info.name} {info.size} {info.mode:o} {info.uid} {info.gid} {info.mtime:.0f}",
                archive.extractfile(info).read() if small else b"")


def key_and_extension(name):
    begin = name.rfind("/") + 1
    key, dot, extension = name[begin:].partition(".")
    if not key or not dot or not extension:
        return None
    return name[:begin] + key, extension.lower()


def samples(path, wanted):
    key, files = None, {}

    def end():
        if files:
            put(key)
            for extension, contents in sorted(files.items()):
                put(f"{extension} {len(contents)}", contents)

    with tarfile.open(path, "r|*") as archive:
        for info in archive:
            first = info.name.split("/")[0]
            name = key_and_extension(info.name)
            if not info.isreg() or name is None or (first.startswith("__") and first.endswith("__")):
                continue
            if name[0] != key:
                end()
                key, files = name[0], {}
            if not wanted or name[1] in wanted:
                files[name[1]] = archive.extractfile(info).read()
        end()


if __name__ == "__main__":
    command, file, *rest = sys.argv[1:]
    {"write": lambda: write(file, *rest), "list": lambda: show(file), "samples": lambda: samples(file, rest)}[command]()
