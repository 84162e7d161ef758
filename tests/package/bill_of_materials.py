#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""toolchains/sbom against what is linked: the program's own dynamic section (readelf) and the archives of the linker's map have
their packages in it, and nothing else counts as linked; the document has the fields that SPDX 2.3 asks for; two runs are equal.

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


def main():
    root, build, target, program = sys.argv[1:]
    build = pathlib.Path(build).resolve()
    if not shutil.which("dpkg-query") or not (build / "build.ninja").exists():
        print("skipped: this takes a Debian system and a build by ninja")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-B", f"{root}/toolchains/sbom", "--map", f"{folder}/map", str(build), target]
        text, again = (subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(2))
        loaded = pathlib.Path(folder, "map").read_text()
    if text != again:
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
    print(f"{len(linked)} packages linked, {len(headers)} of headers only")


if __name__ == "__main__":
    main()
