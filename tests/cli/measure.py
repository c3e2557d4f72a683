"""measure.py COMMAND...: runs it and prints "STATUS SECONDS MAX-RSS-IN-KB CPU-SECONDS".

SPDX-License-Identifier: BSD-2-Clause
"""
import resource
import subprocess
import sys
import time

# A wrapper that found python3 may have had children of its own.
before = resource.getrusage(resource.RUSAGE_CHILDREN)
start = time.monotonic()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds = time.monotonic() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu_seconds = usage.ru_utime - before.ru_utime + usage.ru_stime - before.ru_stime
print(status, "%.4f" % seconds, usage.ru_maxrss, "%.4f" % cpu_seconds)
