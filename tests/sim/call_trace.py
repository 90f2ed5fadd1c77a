#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""call_trace.py HOW LAUNCHER PROGRAM [FILE]: run ring_signal, compiled with SHMEMD_TRACE, in that
way (run_as.sh) with 4 PEs, and look at the trace that it writes. FILE keeps the trace.
call_trace.py RECORDING: look at a trace that was written elsewhere.

It has a process for each PE, with the offset of its clock and the bounds of that; on the track of
its warp a slice for each of its calls; and from each put_signal an arrow to the end of a wait of
the next PE, which is a slice of its own. Perfetto's trace processor, if it is here, must find the
same and report no errors."""
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


def check_clocks(args, are_one):
    """What the events that name the PEs say of their clocks."""
    for arg in args:
        offset = arg["clock offset"]
        assert arg["at least"] <= offset <= arg["at most"], arg
        assert offset == 0 or not are_one, arg
    assert args[0]["clock offset"] == 0, args


def check_file(path, are_clocks_one):
    """The numbers of PEs and of laps."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    args = {e["pid"]: e["args"] for e in events if e["name"] == "process_name"}
    n_pes = len(args)
    assert {pid: arg["name"] for pid, arg in args.items()} == {
        pe + 1: f"PE {pe}" for pe in range(n_pes)}, args
    check_clocks([args[pe + 1] for pe in range(n_pes)], are_clocks_one)
    slices = [e for e in events if e["ph"] == "X"]
    assert all(e["dur"] > 0 and e["ts"] >= 0 for e in slices)
    n_laps = sum(e["name"] == "put_signal" and e["pid"] == 1 for e in slices)
    for pe in range(n_pes):
        seen = [e["args"]["seen"] for e in slices if e["pid"] == pe + 1 and e["name"] == "wait"]
        assert seen == list(range(1, n_laps + 1)), seen
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    arrows = [(e, ends[e["id"]]) for e in events if e["ph"] == "s"]
    assert len(arrows) == len(ends)
    for begin, end in arrows:
        assert end["pid"] == begin["pid"] % n_pes + 1 and begin["ts"] <= end["ts"], (begin, end)
    assert sorted((e["pid"], e["ts"]) for e, _ in arrows) == sorted(
        (e["pid"], e["ts"]) for e in slices if e["name"] == "put_signal")
    return n_pes, n_laps


def check_by_perfetto(path, n_pes, n_laps):
    rows, who = perfetto_trace.query(path, [SLICES, ARROWS, ERRORS])
    if rows is None:
        return f"no trace processor is here: {who}"
    slices, arrows, errors = rows
    assert not errors, [(row.name, row.value) for row in errors]
    found = [(row.pe, row.track, row.call, row.n) for row in slices]
    assert found == [(f"PE {pe}", "block 0 warp 0", call, n_laps) for pe in range(n_pes)
                     for call in ("put_signal", "seen", "wait")], found
    found = [(row.from_call, row.from_pe, row.to_call, row.to_pe, row.n) for row in arrows]
    assert found == [("put_signal", f"PE {pe}", "seen", f"PE {(pe + 1) % n_pes}", n_laps)
                     for pe in range(n_pes)], found
    assert all(row.ns > 0 for row in arrows), arrows
    return f"{who} finds the same"


def look_at(path, are_clocks_one):
    n_pes, n_laps = check_file(path, are_clocks_one)
    print(f"{n_pes} PEs, {n_laps} laps; " + check_by_perfetto(path, n_pes, n_laps))
    return n_pes, n_laps


def main():
    if len(sys.argv) == 2:
        n_pes, n_laps = look_at(sys.argv[1], False)
        assert n_pes > 1 and n_laps > 0
        return 0
    how, launcher, program = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[4] if len(sys.argv) > 4 else os.path.join(folder, "trace.json")
        run(how, launcher, program, path)
        assert look_at(path, how != "gpu") == (N_PES, LAPS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
