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
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit(f"{path} has no block of {language}; did its form change?")
    return blocks


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
