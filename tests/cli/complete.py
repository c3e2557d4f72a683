"""complete.py SHELL SETUP: types each line of standard input into an interactive shell on a terminal,
presses the Tab key, and prints the line as the shell has completed it.

SPDX-License-Identifier: BSD-2-Clause
"""
import os
import pty
import re
import select
import sys
import time

DEADLINE_S = 60


def read_until(terminal, pattern, deadline):
    seen = ""
    while True:
        found = re.search(pattern, seen, re.M)
        if found:
            return found.group(1)
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit("complete.py: the shell did not answer; it said:\n" + seen)
        seen += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")


def main():
    shell, setup = sys.argv[1:]
    lines = sys.stdin.read().splitlines()
    arguments = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    try:
        child, terminal = pty.fork()
    except OSError as error:
        print("no terminal can be had: %s" % error, file=sys.stderr)
        return 77
    if child == 0:
        os.environ.update(TERM="dumb", PS1="", HISTFILE="", INPUTRC="/dev/null")
        os.execvp(arguments[0], arguments)
    deadline = time.monotonic() + DEADLINE_S
    # What is typed says it in two halves, so that its echo is not taken for its output.
    os.write(terminal, (setup + "; echo rea''dy\n").encode())
    read_until(terminal, r"^(ready)$", deadline)
    for line in lines:
        # To the front of the line: echo and a mark; to its end: another mark.
        os.write(terminal, (line + "\t\x01echo '<'\x22 \x22\x05' >'\n").encode())
        print(read_until(terminal, r"^<\s+(.*?)\s*>$", deadline), flush=True)
    os.write(terminal, b"exit\n")
    return 0


sys.exit(main())
