# SPDX-License-Identifier: Apache-2.0
"""Commands of scripts that build projects."""
import shutil
import subprocess

LIMIT_SECONDS = 5400


def run(*command, **options):
    """What the command prints; an AssertionError with its end if it fails. Options are those of subprocess.run()."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=LIMIT_SECONDS, **options)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout[-4000:]}")
    return ended.stdout


def copy_tree(root, folder):
    """The files of the checkout `root` that git knows or would take."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE,
                           text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
