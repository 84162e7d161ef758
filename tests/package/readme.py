# SPDX-License-Identifier: Apache-2.0
"""The code blocks of a Markdown file, by language, and how those of commands are run. As a program: readme.py FILE LANGUAGE
prints them."""
import os
import pathlib
import re
import signal
import subprocess
import sys

SECONDS_MAX = 100 * int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE", "1"))  # for one block of commands


def code_blocks(path, language):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit(f"{path} has no block of {language}; did its form change?")
    return blocks


def words_of_headers(root):
    headers = "\n".join(path.read_text(encoding="utf-8") for path in pathlib.Path(root).glob("modules/*/include/**/*.h"))
    return set(re.findall(r"\w+", headers))


def names_in(page):
    """Identifiers in the second column of a page's tables: what is in backticks, up to a bracket, without namespace. Flags and
    commands are none."""
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if not line.startswith("| ") or len(cells) < 2 or cells[1] in ("Shoal", "---"):
            continue
        for code in re.findall(r"`([^`]+)`", cells[1]):
            if code.startswith(("--", "shoal ", "tensorboard ")):
                continue
            yield re.split(r"[(<=]", code)[0].split("::")[-1].split(".")[-1].strip()


def write_files(path, folder):
    """Writes the files that a page shows whole: blocks whose first line is a comment that is a file's name. Returns the names."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    files = re.findall(r"^```(?:cpp|cmake)\n((?://|#) ([\w/.]+\.\w+)\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not files:
        sys.exit(f"{path} shows no file; did its form change?")
    for body, name in files:
        file = pathlib.Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body, encoding="utf-8")
    return [name for _, name in files]


def execute_block(block, folder, environment):
    """Runs commands as a user's shell would, but ends at the first that fails. Returns what they printed."""
    process = subprocess.Popen(["bash", "-euc", block], cwd=folder, env=environment, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"these commands did not end within {SECONDS_MAX} s:\n" + block + process.communicate()[0])
    if process.returncode != 0:
        sys.exit("these commands failed:\n" + block + output)
    print(output)
    return output


if __name__ == "__main__":
    print("\n".join(code_blocks(sys.argv[1], sys.argv[2])), end="")
