#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""toolchains/sbom against what is linked: the program's own dynamic section (readelf) and the archives of the linker's map have
their packages in it, and nothing else counts as linked; the document has the fields that SPDX 2.3 asks for; two runs are equal. The
licences are those of the packages on the bill, each in full.

usage: bill_of_materials.py ROOT BUILD TARGET PROGRAM
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FIELDS = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships"}
FIELDS_OF_PACKAGE = {"SPDXID", "name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"}
# Of the compiler and the C library: parts that every program has, some of them under names that the program does not show.
OF_THE_COMPILER = re.compile(r"^(libc6|libgcc|libstdc\+\+)")


def package_of(path):
    for name in (str(path), str(path).removeprefix("/usr")):
        said = subprocess.run(["dpkg", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if said.returncode == 0:
            return said.stdout.split(":")[0]
    sys.exit(f"{path} is of no package")


def needed(program):
    """Packages of the shared libraries that the program names, where the loader finds them."""
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, text=True, check=True).stdout)
    found = dict(re.findall(r"(\S+) => (/\S+)", subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout))
    return {package_of(pathlib.Path(found[name]).resolve()) for name in names if name in found}


def archives(text, build):
    paths = {pathlib.Path(path).resolve() for path in re.findall(r"^(?:LOAD )?(/\S+\.a)", text, re.MULTILINE)}
    return {package_of(path) for path in paths if build not in path.parents}


def check_licences(text, bill):
    """Each package on the bill has its own file in the text, and each common licence that one refers to is there."""
    for package in bill["packages"]:
        if "comment" not in package:  # the program itself
            continue
        if not re.search(rf"^(\S+ \([\w ]+\), )*{re.escape(package['name'])} \({package['comment']}\)", text, re.MULTILINE):
            sys.exit(f"the licences do not name {package['name']}")
        own = pathlib.Path("/usr/share/doc", package["name"], "copyright").read_text(errors="replace")
        if own.strip() not in text:
            sys.exit(f"the licences lack what /usr/share/doc/{package['name']}/copyright says")
    referred = {path for path in pathlib.Path("/usr/share/common-licenses").iterdir() if re.search(rf"{path}(?![\w+-]|\.\d)", text)}
    if not referred:
        sys.exit("no package refers to a common licence; has the form of such references changed?")
    for path in referred:
        if path.read_text(errors="replace").strip() not in text:
            sys.exit(f"the licences refer to {path}, and lack it")


def main():
    root, build, target, program = sys.argv[1:]
    build = pathlib.Path(build).resolve()
    if not shutil.which("dpkg-query") or not (build / "build.ninja").exists():
        print("skipped: this takes a Debian system and a build by ninja")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for _ in range(2):
            command = [sys.executable, "-B", f"{root}/toolchains/sbom", "--map", f"{folder}/map", "--licences", f"{folder}/licences",
                       str(build), target]
            text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            results.append((text, pathlib.Path(folder, "licences").read_text()))
        loaded = pathlib.Path(folder, "map").read_text()
    if results[0] != results[1]:
        sys.exit("two bills of one program differ")
    bill = json.loads(text)
    if missing := FIELDS - bill.keys():
        sys.exit(f"the document lacks {missing}")
    for package in bill["packages"]:
        if missing := FIELDS_OF_PACKAGE - package.keys():
            sys.exit(f"{package['name']} lacks {missing}")
    ids = {package["SPDXID"] for package in bill["packages"]}
    told = {relation["relatedSpdxElement"] for relation in bill["relationships"]}
    if ids != told:
        sys.exit(f"without a relation, or twice: {ids ^ told}")
    linked = {package["name"] for package in bill["packages"] if package.get("comment") == "linked"}
    expected = needed(program) | archives(loaded, build)
    if not expected <= linked:
        sys.exit(f"linked, and not on the bill: {expected - linked}")
    if too_many := [name for name in linked - expected if not OF_THE_COMPILER.match(name)]:
        sys.exit(f"on the bill, and not linked: {too_many}")
    headers = {package["name"] for package in bill["packages"] if package.get("comment") == "headers only"}
    for name in ("libflatbuffers-dev", "nlohmann-json3-dev", "libxxhash-dev"):
        if name not in headers:
            sys.exit(f"{name}, whose headers Shoal is compiled with, is not among {sorted(headers)}")
    check_licences(results[0][1], bill)
    print(f"{len(linked)} packages linked, {len(headers)} of headers only")


if __name__ == "__main__":
    main()
