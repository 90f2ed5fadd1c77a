#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""call_trace.py HOW LAUNCHER PROGRAM [FILE]: run ring_signal, compiled with SHMEMD_TRACE, in that
way (run_as.sh), and look at the trace that it writes: a process for each of 4 PEs, on the track of
its warp a slice for each of its calls, and an arrow to the end of each wait, which is a slice of
its own, from the put_signal of the PE before. Perfetto's trace processor, if it is here, must find
the same and report no errors.
FILE keeps the trace."""
import collections
import json
import os
import subprocess
import sys
import tempfile

import perfetto_trace

HERE = os.path.dirname(os.path.abspath(__file__))
N_PES, LAPS = 4, 20  # laps of both launches
SLICES = """select process.name as pe, thread.name as track, slice.name as call, count(*) as n
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
    join process using (upid) group by 1, 2, 3 order by 1, 2, 3"""
ARROWS = """select a.name as from_call, p.name as from_pe, b.name as to_call, q.name as to_pe,
    count(*) as n, min(b.ts + b.dur - a.ts) as ns from flow
    join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
    join thread_track s on a.track_id = s.id join thread t on s.utid = t.utid
    join process p on t.upid = p.upid
    join thread_track u on b.track_id = u.id join thread v on u.utid = v.utid
    join process q on v.upid = q.upid group by 1, 2, 3, 4 order by 2"""
ERRORS = "select name, value from stats where severity = 'error' and value > 0"


def run(how, launcher, program, path):
    script = os.path.join(HERE, "..", "run_as.sh")
    done = subprocess.run(["sh", script, how, launcher, program], check=False,
                          env={**os.environ, "RUN_TRACE": path}, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout)
        sys.exit(done.returncode)


def check_file(path):
    """The numbers of slices and arrows."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    phases = collections.Counter(e["ph"] for e in events)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {pe + 1: f"PE {pe}" for pe in range(N_PES)}, names
    slices = [e for e in events if e["ph"] == "X"]
    for pe in range(N_PES):
        seen = [e["args"]["seen"] for e in slices if e["pid"] == pe + 1 and e["name"] == "wait"]
        assert seen == list(range(1, LAPS + 1)), seen
    assert phases["s"] == phases["f"]
    return len(slices), phases["s"]


def check_by_perfetto(path, n_arrows):
    rows, who = perfetto_trace.query(path, [SLICES, ARROWS, ERRORS])
    if rows is None:
        return f"no trace processor is here: {who}"
    slices, arrows, errors = rows
    assert not errors, [(row.name, row.value) for row in errors]
    found = [(row.pe, row.track, row.call, row.n) for row in slices]
    assert found == [(f"PE {pe}", "block 0 warp 0", call, LAPS) for pe in range(N_PES)
                     for call in ("put_signal", "seen", "wait")], found
    for row in arrows:
        assert (row.from_call, row.to_call) == ("put_signal", "seen") and row.ns > 0, vars(row)
        assert int(row.from_pe[3:]) == (int(row.to_pe[3:]) - 1) % N_PES, vars(row)
    assert sum(row.n for row in arrows) == n_arrows
    return f"{who} finds the same"


def main():
    how, launcher, program = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[4] if len(sys.argv) > 4 else os.path.join(folder, "trace.json")
        run(how, launcher, program, path)
        n_slices, n_arrows = check_file(path)
        assert n_slices == 3 * N_PES * LAPS, n_slices
        assert n_arrows == N_PES * LAPS, n_arrows
        print(f"{n_slices} slices, {n_arrows} arrows; " + check_by_perfetto(path, n_arrows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
