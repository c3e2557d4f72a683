"""measure.py COMMAND...: runs it and prints "STATUS SECONDS MAX-RSS-IN-KB CPU-SECONDS".

SPDX-License-Identifier: BSD-2-Clause
"""
import resource
import subprocess
import sys
import time

start = time.monotonic()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds = time.monotonic() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, "%.4f" % seconds, usage.ru_maxrss, "%.4f" % (usage.ru_utime + usage.ru_stime))
