#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shoal as FetchContent fetches it, in the way that docs/how-to/install.md shows: from a git repository, without a network, into
the build folder of the project and nowhere else. A program of it squares three numbers by a backend; with --train the page's own
program trains for ten steps, which takes all of Shoal (./dev test --long fetched).

The repository has one commit, of what git knows of this tree, as it is now: a file that nobody has added to git is not in it.

usage: fetched.py [--train] ROOT CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import os
import pathlib
import shutil
import subprocess
import sys

from offline import without_network
from quick_build import OPTIONS
from readme import code_blocks

SMALL = """
add_executable(small small.cc)
target_link_libraries(small PRIVATE shoal::backends)
"""
WRITER = ("-c", "user.name=Shoal", "-c", "user.email=shoal@shoal.invalid", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false")


def run(*command, **options):
    print("+", *command, flush=True)
    ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                           timeout=900, **options)
    if ended.returncode != 0:
        sys.exit(f"{ended.stdout}status {ended.returncode}")
    return ended.stdout


def known_files(root):
    """What git knows of the tree and is there; in a tree that is no repository, such as a release: all but build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in os.fsdecode(listed.stdout).split("\0") if name and (root / name).is_file()]
    tops = [path for path in root.iterdir() if path.name != ".git" and not path.name.startswith("build")]
    files = [file for top in tops for file in (top.rglob("*") if top.is_dir() else [top])]
    return [str(file.relative_to(root)) for file in files if file.is_file()]


def make_repository(root, folder):
    """Commits the tree to a repository in the folder, and returns the commit. The tree is only read."""
    run("git", "init", "--quiet", folder)
    git = ("git", f"--git-dir={folder}/.git", f"--work-tree={root}", *WRITER)
    run(*git, "add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", input="\0".join(known_files(root)), cwd=root)
    run(*git, "commit", "--quiet", "--message", "the tree")
    return run(*git, "rev-parse", "HEAD").strip()


def write_project(root, folder, repository, commit):
    """The project of the page, with the address and the version of this test."""
    project = next(block for block in code_blocks(root / "docs" / "how-to" / "install.md", "cmake") if "FetchContent_Declare" in block)
    for shown, here in (("https://example.org/shoal.git", f"file://{repository}"), ("v0.1.0", commit)):
        if shown not in project:
            sys.exit(f"docs/how-to/install.md fetches nothing from {shown}:\n{project}")
        project = project.replace(shown, here)
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(project + SMALL)
    shutil.copy(root / "tests" / "package" / "embedded" / "small.cc", folder)
    (folder / "rings.cc").write_text("\n".join(code_blocks(root / "docs" / "first-program.md", "cpp")))


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_training(build, folder):
    said = run(build / "rings", "--steps", 10, "--model-dir", folder / "model")
    if not list((folder / "model").glob("*ckpt-10*")):
        sys.exit(f"no checkpoint of step 10:\n{said}")


def main():
    *options, root, cmake, compiler, folder = sys.argv[1:]
    target = "rings" if options == ["--train"] else "small"
    root, folder = pathlib.Path(root), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    repository, user, build = folder / "repository", folder / "user", folder / "build"
    write_project(root, user, repository, make_repository(root, repository))
    before = {place: files_in(place) for place in (user, repository)}

    # What the configuration and the build write in the user's home or beside the project is found afterwards.
    elsewhere = [folder / "home", folder / "tmp"]
    for place in elsewhere:
        place.mkdir()
    environment = {**os.environ, "HOME": str(elsewhere[0]), "TMPDIR": str(elsewhere[1])}
    launcher = []
    if shutil.which("ccache"):
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        environment["CCACHE_DIR"] = subprocess.run(["ccache", "--get-config", "cache_dir"], stdout=subprocess.PIPE, text=True,
                                                   check=True).stdout.strip()
    offline = without_network()
    run(*offline, cmake, "-S", user, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", *OPTIONS, *launcher, env=environment)
    run(*offline, cmake, "--build", build, "--target", target, env=environment)
    for place in (user, repository):
        if (after := files_in(place)) != before[place]:
            sys.exit(f"the build has written into {place}: {set(after) ^ set(before[place])}")
    for place in elsewhere:
        if strays := files_in(place):
            sys.exit(f"the build has left in {place}: {strays}")
    if changed := run("git", "-C", build / "_deps" / "shoal-src", "status", "--porcelain").strip():
        sys.exit(f"the build has changed what was fetched:\n{changed}")
    if target == "rings":
        check_training(build, folder)
    elif (said := run(build / "small").strip()) != "portable: 1 4 9":
        sys.exit(f"small said: {said}")


if __name__ == "__main__":
    main()
