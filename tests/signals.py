#!/usr/bin/env python3
"""signals.py PROGRAM [--trials N] [--seed N] [--only WORDS]

Signals at random moments: SIGINT, SIGTERM (to the process or to its whole group), SIGPIPE, and
readers of standard output that leave, each at a moment of the run chosen by the seed, for N runs spread
over the commands that take long or write. Each run has to end in time: by status 0 with all of its
output, by 130 with one line that says so and an output that is whole as far as it goes, or, where the
reader left, by 1 with one line. Nothing unfinished may be left, in any folder. A run that has not got
to its signal handlers may die of the signal, without a trace.
Prints a table; exit status 1 and a line for each run that failed. The inputs are made by ffmpeg in the
working directory.

SPDX-License-Identifier: BSD-2-Clause
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile

TIME_LIMIT = 120
FAST = ["--backend", "cpu", "--threads", "1", "--block", "8", "--range", "6"]
HANDLED = 1 << (signal.SIGINT - 1) | 1 << (signal.SIGTERM - 1)
# What the command writes into OUT, or to standard output.
COMMANDS = {
    "csv": ["extract", "in.mp4", *FAST, "-o", "OUT/a.csv"],
    "jsonl": ["extract", "in.mp4", *FAST, "-o", "OUT/a.jsonl"],
    "npy": ["extract", "in.mp4", *FAST, "-o", "OUT/a.npy"],
    "npz": ["extract", "in.mp4", *FAST, "--compress", "6", "-o", "OUT/a.npz"],
    "mvf": ["extract", "in.mp4", *FAST, "-o", "OUT/a.mvf"],
    "mvf, --decoders 3": ["extract", "in.mp4", *FAST, "--decoders", "3", "-o", "OUT/a.mvf"],
    "flo": ["extract", "in.mp4", *FAST, "-o", "OUT/a.flo"],
    "kitti": ["extract", "in.mp4", *FAST, "--format", "kitti", "-o", "OUT/a.png"],
    "codec vectors": ["extract", "in.mp4", "--vectors", "codec", "-o", "OUT/a.csv"],
    "of an mvf file": ["extract", "in.mvf", "-o", "OUT/a.jsonl"],
    "shard": ["extract", "in.mp4", *FAST, "--shard", "0/2", "-o", "OUT/a.mvf"],
    "batch": ["extract", "--list", "list", *FAST, "--jobs", "2", "-o", "OUT/all"],
    "mp4": ["overlay", "in.mp4", *FAST, "-o", "OUT/a.mp4"],
    "mkv": ["overlay", "in.mp4", *FAST, "--draw", "wheel,grid", "-o", "OUT/a.mkv"],
    "avi": ["overlay", "in.mp4", *FAST, "--codec", "mpeg4", "-o", "OUT/a.avi"],
    "y4m": ["overlay", "in.mp4", *FAST, "--layout", "side", "-o", "OUT/a.y4m"],
    "pictures": ["overlay", "in.mp4", *FAST, "-o", "OUT/a-%d.png"],
    "report": ["report", "in.mp4", *FAST, "-o", "OUT/page"],
    "merge": ["merge", "shard-0.mvf", "shard-1.mvf", "-o", "OUT/a.mvf"],
    "compare": ["compare", "codec", "search", "--video", "in.mp4", *FAST, "--json"],
    "stats": ["stats", "in.mp4", *FAST, "--json"],
    "csv to a pipe": ["extract", "in.mp4", *FAST, "--format", "csv", "-o", "-"],
    "npz to a pipe": ["extract", "in.mp4", *FAST, "--format", "npz", "-o", "-"],
    "y4m to a pipe": ["overlay", "in.mp4", *FAST, "-o", "-"],
}
WAYS = ["SIGINT", "SIGTERM", "SIGTERM to the group", "SIGINT to the group", "SIGPIPE"]
# Whole or not there: no frames up to a signal.
WHOLE_ONLY = {"shard", "merge", "compare", "stats"}


def make_inputs(program):
    def ffmpeg(*arguments):
        subprocess.run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y", *arguments], check=True,
                       stdin=subprocess.DEVNULL)

    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2", "-c:v", "libx264",
           "-threads", "1", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "10", "-c:a", "aac", "in.mp4")
    for i in range(6):
        shutil.copy("in.mp4", "in-%d.mp4" % i)
    with open("list", "w") as names:
        names.writelines("in-%d.mp4\n" % i for i in range(6))
    for words in (["extract", "in.mp4", *FAST, "-o", "in.mvf"],
                  *(["extract", "in.mp4", *FAST, "--shard", "%d/2" % i, "-o", "shard-%d.mvf" % i] for i in (0, 1))):
        subprocess.run([program, *words, "--overwrite"], check=True, stdin=subprocess.DEVNULL)


def read_files(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                found[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return found


def catches_signals(pid):
    try:
        with open("/proc/%d/status" % pid) as status:
            caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
        return bool(caught) and int(caught[0], 16) & HANDLED == HANDLED
    except OSError:
        return True


def wait_caught(process):
    while process.poll() is None and not catches_signals(process.pid):
        time.sleep(0.001)


def is_whole(program, path, got, wanted):
    """Whether a file that holds less than all is whole in itself."""
    extension = os.path.splitext(path)[1]
    if extension in (".csv", ".jsonl"):
        return wanted.startswith(got) and (not got or got.endswith(b"\n"))
    if extension == ".npz":
        return zipfile.ZipFile(path).testzip() is None
    if extension == ".mvf":
        return subprocess.run([program, "extract", path, "--format", "null"]).returncode == 0
    if extension == ".npy":
        shape = eval(got[10:got.index(b"\n")])["shape"]
        return len(got) == got.index(b"\n") + 1 + shape[0] * shape[1] * shape[2] * shape[3] * 2
    if extension == ".html":
        return got.rstrip().endswith(b"</html>")
    frames = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-count_frames", "-show_entries",
         "stream=nb_read_frames", "-of", "csv=p=0", path], capture_output=True)
    return frames.returncode == 0 and not frames.stderr and 0 < int(frames.stdout.split(b",")[0]) <= 50


class Trial:
    def __init__(self, program, name, way, moment, whole, is_early=False):
        self.program, self.name, self.way, self.whole = program, name, way, whole
        self.words = [word.replace("OUT", "out") for word in COMMANDS[name]]
        # The moment counts from when signals are caught, or, of a few, from the start.
        self.moment, self.is_early = moment, is_early
        self.faults = []

    def check(self, fine, what):
        if not fine:
            self.faults.append(what)

    def send(self, process):
        self.was_caught = catches_signals(process.pid)
        number = getattr(signal, self.way.split()[0])
        try:
            if self.way.endswith("group"):
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        except ProcessLookupError:
            pass

    def run(self):
        shutil.rmtree("out", ignore_errors=True)
        os.mkdir("out")
        self.was_caught = True
        with open("messages", "wb") as messages, open("printed", "wb") as printed:
            process = subprocess.Popen(
                [self.program, *self.words], stdin=subprocess.DEVNULL, stderr=messages, start_new_session=True,
                stdout=subprocess.PIPE if self.way == "reader leaves" else printed)
            if self.way == "none":
                wait_caught(process)
            elif self.way == "reader leaves":
                process.stdout.read(self.moment)
                process.stdout.close()
            else:
                if not self.is_early:
                    wait_caught(process)
                try:
                    process.wait(self.moment)
                except subprocess.TimeoutExpired:
                    self.send(process)
            start = time.monotonic()
            try:
                self.status = process.wait(TIME_LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.status = process.wait()
                self.check(False, "it hangs")
        self.seconds = time.monotonic() - start
        self.judge()

    def judge(self):
        with open("messages", "rb") as file:
            messages = file.read().decode(errors="replace").splitlines()
        with open("printed", "rb") as file:
            printed = file.read()
        files, wanted = read_files("out"), self.whole["files"]
        self.check(all(line.startswith("mvfield: ") for line in messages), "it says something else")
        lines = [line for line in messages if not line.startswith("mvfield: warning: ")]
        if self.status < 0:
            self.check(not self.was_caught and not files and not lines, "it is ended by the signal")
        elif self.status == 0:
            # Matroska files bear random numbers.
            same = files == wanted or (self.name == "mkv" and [len(files[name]) for name in files] ==
                                       [len(wanted[name]) for name in wanted])
            self.check(same, "status 0, and the files are not all or not right")
            self.check(self.way == "reader leaves" or printed == self.whole["printed"], "not all is printed")
        elif self.status == 130:
            self.check(self.way not in ("SIGPIPE", "reader leaves"), "status 130 without such a signal")
            self.judge_interrupted(files, wanted, printed)
            if self.name != "batch":
                self.check(len(lines) == 1 and "interrupted" in lines[0], "not one line says so")
        else:
            self.check(self.status == 1 and self.way == "reader leaves" and len(lines) == 1, "the status is wrong")
        if self.faults:
            print("%s, %s at %s: status %d, %s: %s" % (self.name, self.way, self.moment, self.status,
                                                      "; ".join(self.faults), messages), file=sys.stderr)

    def judge_interrupted(self, files, wanted, printed):
        for name, got in files.items():
            path = os.path.join("out", name)
            if name not in wanted:
                self.check(False, name + " is left")
            elif got != wanted[name]:
                self.check(self.name not in WHOLE_ONLY and is_whole(self.program, path, got, wanted[name]),
                           name + " is not whole")
        if "json" in self.words[-1] and printed:
            json.loads(printed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    rng = random.Random(options.seed)
    make_inputs(program)
    names = [name for name in COMMANDS if options.only in name]
    wholes, counts, n_bad = {}, {name: {} for name in names}, 0
    for i in range(options.trials):
        name = names[i % len(names)]
        if name not in wholes:
            probe = Trial(program, name, "none", 0, {"files": {}, "printed": b""})
            probe.judge = lambda: None
            probe.run()
            with open("printed", "rb") as file:
                wholes[name] = {"files": read_files("out"), "printed": file.read(),
                                "seconds": probe.seconds}
            if probe.status:
                sys.exit("%s: status %d without a signal" % (name, probe.status))
        whole = wholes[name]
        way = rng.choice(WAYS + (["reader leaves"] if whole["printed"] else []))
        moment = (rng.randrange(len(whole["printed"])) if way == "reader leaves"
                  else rng.random() * whole["seconds"])
        trial = Trial(program, name, way, moment, whole, rng.random() < 0.1)
        trial.run()
        n_bad += bool(trial.faults)
        counts[name][trial.status] = counts[name].get(trial.status, 0) + 1
    statuses = [0, 1, 130]
    print("| command | runs | status 0 | status 1 | status 130 | before its handlers |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    total = {}
    for name, found in [*counts.items(), ("all", total)]:
        print("| %s | %d | %s | %d |" % (name, sum(found.values()), " | ".join(str(found.get(s, 0)) for s in statuses),
                                       sum(n for s, n in found.items() if s < 0)))
        for status, n in found.items():
            if found is not total:
                total[status] = total.get(status, 0) + n
    print("%d taken badly" % n_bad)
    sys.exit(1 if n_bad or not options.trials else 0)


if __name__ == "__main__":
    main()
