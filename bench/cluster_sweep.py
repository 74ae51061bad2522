#!/usr/bin/env python3
"""Simulates a sweep of many cells on many hosts (docs/clusters.md): how long it takes, by how its cells are
put into blocks and in which order these begin, and what slow and dying hosts cost.

    bench/cluster_sweep.py                      # 1000 settings in 10 rounds on 100 hosts
    bench/cluster_sweep.py --hosts 50 --deaths 10

A cell loads its database, which takes a time of its setting's own (log-normal), and is measured for a time
that is the same for all. The cells of a block run on one host, one after the other, and a host takes the next
block when it has finished one. A host that dies loses its block, which begins anew on another host when the
scheduler has noticed. Times are in hours. Each line is the mean over the seeds, and the worst of them.
"""
import argparse
import heapq
import math
import random
import statistics


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=int, default=1000, help="cells of a round [1000]")
    parser.add_argument("--rounds", type=int, default=10, help="[10]")
    parser.add_argument("--hosts", type=int, default=100, help="[100]")
    parser.add_argument("--measure", type=float, default=60, help="seconds that a cell is measured [60]")
    parser.add_argument("--load", type=float, default=90, help="median of the seconds of a load [90]")
    parser.add_argument("--load-spread", type=float, default=0.7, help="standard deviation of its logarithm [0.7]")
    parser.add_argument("--slow", type=int, default=2, help="hosts that take 1.5 times as long [2]")
    parser.add_argument("--deaths", type=float, default=1, help="deaths of a host in 1000 hours of a host [1]")
    parser.add_argument("--notice", type=float, default=420,
                        help="seconds until a dead host's block is waiting again [420: Slurm's defaults]")
    parser.add_argument("--start", type=float, default=3, help="seconds that a task takes to start [3]")
    parser.add_argument("--seeds", type=int, default=20, help="[20]")
    args = parser.parse_args()
    for name in ("settings", "rounds", "hosts", "seeds"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} {getattr(args, name)} is not accepted; give 1 or more")
    if args.deaths < 0:
        parser.error(f"--deaths {args.deaths:g} is not accepted; give 0 or more")
    return args


def blocks_of(args, rng, parts):
    """Returns the seconds of the cells of each block, with each round split into `parts` blocks."""
    loads = [args.load * math.exp(rng.gauss(0, args.load_spread)) for _ in range(args.settings)]
    blocks = []
    for _ in range(args.rounds):
        for part in range(parts):
            cells = range(part * args.settings // parts, (part + 1) * args.settings // parts)
            blocks.append([args.measure + loads[cell] * math.exp(rng.gauss(0, 0.05)) for cell in cells])
    return blocks


def simulate(args, rng, blocks, longest_first):
    """Returns the hours until all is done (infinite when all hosts die before), the share of the hosts' time
    that was of use, and the cells that were measured twice."""
    waiting = list(blocks)
    if longest_first:
        # The order follows a forecast, which is off by a third either way.
        waiting.sort(key=lambda block: -sum(block) * math.exp(rng.gauss(0, 0.3)))
    waiting.reverse()
    speed = [rng.lognormvariate(0, 0.03) * (1.5 if host < args.slow else 1) for host in range(args.hosts)]
    dies = [rng.expovariate(args.deaths / 1000 / 3600) if args.deaths else math.inf for _ in range(args.hosts)]
    # Events are (time, kind, host, block): a host is free, or a block is waiting again.
    events = [(0.0, 0, host, None) for host in range(args.hosts)]
    heapq.heapify(events)
    idle, end, useful, twice = [], 0.0, 0.0, 0
    done = 0
    while done < len(blocks) and events:
        now, kind, host, block = heapq.heappop(events)
        if kind == 1:
            waiting.append(block)
            idle = [host for host in idle if dies[host] > now]
            if idle:
                heapq.heappush(events, (now, 0, idle.pop(), None))
            continue
        if block is not None:
            done += 1
            end = max(end, now)
            useful += sum(block)
        if not waiting or dies[host] <= now:
            idle.append(host)
            continue
        block = waiting.pop()
        finish = now + args.start + sum(block) * speed[host]
        if finish <= dies[host]:
            heapq.heappush(events, (finish, 0, host, block))
            continue
        at = max(dies[host], now)
        passed = now + args.start
        for seconds in block:
            passed += seconds * speed[host]
            twice += passed <= at
        heapq.heappush(events, (at + args.notice, 1, host, block))
    if done < len(blocks):
        end = math.inf  # all hosts have died before
    return end / 3600, useful / (end * args.hosts), twice


def main():
    args = arguments()
    cells = args.settings * args.rounds
    print(f"{cells} cells, {args.settings} settings in {args.rounds} rounds, on {args.hosts} hosts, "
          f"{args.slow} of them slow; {args.deaths:g} deaths in 1000 hours of a host; {args.seeds} seeds")
    print(f"{'blocks':>7} {'cells each':>10} {'order':>14} {'hours':>7} {'worst':>7} {'use of hosts':>12} {'cells twice':>11}")
    for parts in (1, 10, 100, args.settings):
        for longest_first in (False, True):
            runs = []
            for seed in range(args.seeds):
                rng = random.Random(seed)
                runs.append(simulate(args, rng, blocks_of(args, rng, parts), longest_first))
            hours, use, twice = zip(*runs)
            print(f"{parts * args.rounds:>7} {args.settings // parts:>10} "
                  f"{'longest first' if longest_first else 'as planned':>14} {statistics.mean(hours):>7.2f} "
                  f"{max(hours):>7.2f} {statistics.mean(use):>12.0%} {statistics.mean(twice):>11.0f}")


if __name__ == "__main__":
    main()
