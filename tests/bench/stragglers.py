"""stragglers.py [OPTIONS]: how long shards keep a cluster waiting for its slowest machine.

Simulates workers that take shards from one queue, as Slurm, GNU parallel and Kubernetes hand them out.
Workers differ in speed, some are stragglers, tasks fail and run again, and each shard costs an overhead.
Prints for 1, 2, 4, ... shards a worker the time until the last one is done, beside that of the same
workers without any loss.

SPDX-License-Identifier: BSD-2-Clause
"""
import argparse
import heapq
import math
import random


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hours", type=float, default=1000, help="work of one usual worker [1000]")
    parser.add_argument("--workers", type=int, default=100, help="[100]")
    parser.add_argument("--shards", type=int, default=64, help="at most, a worker [64]")
    parser.add_argument("--slow", type=float, default=0.05, help="share of stragglers [0.05]")
    parser.add_argument("--factor", type=float, default=4, help="how much slower these are [4]")
    parser.add_argument("--spread", type=float, default=0.1,
                        help="standard deviation of log speed, of workers and of shards [0.1]")
    parser.add_argument("--failures", type=float, default=0.02,
                        help="chance an hour that a task is lost and runs again [0.02]")
    parser.add_argument("--overhead", type=float, default=3, help="seconds a shard [3]")
    parser.add_argument("--rounds", type=int, default=20, help="simulations to average [20]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", action="store_true")
    return parser.parse_args()


def speeds_of(arguments, chance):
    """Speeds of the workers; stragglers are the same share in every round."""
    n_slow = round(arguments.slow * arguments.workers)
    speeds = [math.exp(chance.gauss(0, arguments.spread)) for _ in range(arguments.workers)]
    return [speed / arguments.factor if i < n_slow else speed for i, speed in enumerate(speeds)]


def simulate(arguments, per_worker, seed):
    """(hours until the last shard is done, hours without any loss, share of time lost to overhead)"""
    chance = random.Random(seed)
    speeds = speeds_of(arguments, chance)
    n = per_worker * arguments.workers
    weights = [math.exp(chance.gauss(0, arguments.spread)) for _ in range(n)]
    work = [arguments.hours * weight / sum(weights) for weight in weights]
    free = [(0.0, i) for i in range(arguments.workers)]
    heapq.heapify(free)
    # When each can start: one that failed, from then on.
    queue = [(0.0, task) for task in range(n)]
    waiting, end, spent, overhead = 0, 0.0, 0.0, arguments.overhead / 3600
    while waiting < len(queue):
        at, worker = heapq.heappop(free)
        ready, task = queue[waiting]
        at = max(at, ready)
        waiting += 1
        takes = work[task] / speeds[worker] + overhead
        fails = arguments.failures and chance.expovariate(arguments.failures) < takes
        if fails:
            takes *= chance.random()
            queue.append((at + takes, task))
        spent += takes
        end = max(end, at + takes)
        heapq.heappush(free, (at + takes, worker))
    return end, arguments.hours / sum(speeds), overhead * len(queue) / spent


def main():
    arguments = parse()
    if arguments.csv:
        print("shards_per_worker,hours,ideal_hours,efficiency,overhead")
    else:
        print("shards a worker    hours   no loss   efficiency   overhead")
    per_worker = 1
    while per_worker <= arguments.shards:
        runs = [simulate(arguments, per_worker, arguments.seed + i) for i in range(arguments.rounds)]
        hours, ideal, overhead = (sum(column) / len(runs) for column in zip(*runs))
        values = per_worker, hours, ideal, ideal / hours, overhead
        print("%d,%.3f,%.3f,%.3f,%.3f" % values if arguments.csv else
              "%15d %8.2f %9.2f %12.2f %10.3f" % values)
        per_worker *= 2


main()
