# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""A gdb command that prints a channel: its words decoded, what it is doing, its last WQEs.

    (gdb) source shmem-gdb.py
    (gdb) shmemd-channel PE CHANNEL [CONTEXT]

PE counts the members of the context's team. CONTEXT is an expression of type shmemd_ctx_t, a
pointer to one, a struct with a member `ctx`, or a job (shmemh_t *, if the runtime has debug
information: its world). Without it such a variable is searched for in the frames of the selected
thread. The program must be compiled with -g. Works on a running process and on a core file. gdb
reads memory of the host only: of a process whose channels are in memory of a GPU it can print
nothing."""
import gdb

N_WQEBBS = 8  # of the send queue, at most
STATUS = {0: "none", 1: "TIMEOUT", 2: "PEER", 10: "REFUSED", 11: "PATH", 12: "AMBIGUOUS",
          13: "LOST"}
OPCODES = {0x00: "NOP", 0x08: "RDMA_WRITE", 0x10: "RDMA_READ", 0x11: "ATOMIC_CS",
           0x12: "ATOMIC_FA", 0x14: "ATOMIC_MASKED_CS", 0x15: "ATOMIC_MASKED_FA", 0x23: "DUMP"}
NOT_REQUESTS = (0x00, 0x23)
WQEBB_NBYTES = 64  # also of a CQE
CQE_SUCCESS, CQE_INVALID = 0, 15
LOW_32 = (1 << 32) - 1


def bits(word, low, high):
    """Bits low to high of a word, both included."""
    return word >> low & (1 << high - low + 1) - 1


def swap(value, nbytes):
    return int.from_bytes(value.to_bytes(nbytes, "little"), "big")


def ahead(at, base):
    """at - base of two indexes of 32 bits, as a signed number."""
    difference = at - base & LOW_32
    return difference - (1 << 32) if difference >> 31 else difference


def type_of(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        raise gdb.GdbError(f"no debug information on {name}: compile the program with -g") from None


def as_context(value):
    """The context that a value is, points to or has in it; None otherwise."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().strip_typedefs().code == \
            gdb.TYPE_CODE_STRUCT:
        if int(value) == 0:
            return None
        value, kind = value.dereference(), kind.target().strip_typedefs()
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return None
    names = {field.name for field in kind.fields()}
    if {"channels", "n_channels", "geometry"} <= names:
        return value
    if {"teams", "pe", "n_pes"} <= names:  # a job: the context of the world, if no GPU has it
        return as_context(value["teams"][0]["device_copy"])
    return as_context(value["ctx"]) if "ctx" in names else None


def variables_of(frame):
    """The variables that a frame sees, `ctx` first."""
    found = []
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block and not block.is_global:
        found += [s for s in block if s.is_variable or s.is_argument]
        block = block.superblock
    return sorted(found, key=lambda symbol: symbol.name != "ctx")


def find_context():
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        raise gdb.GdbError("no process and no core file") from None
    while frame:
        for symbol in variables_of(frame):
            try:
                context = as_context(symbol.value(frame))
                if context is not None and int(context["size"]):
                    return context
            except (gdb.error, gdb.MemoryError):
                continue
        frame = frame.older()
    raise gdb.GdbError("no context in the frames of this thread: name one, as in "
                       "shmemd-channel 1 0 p.ctx")


class Channel:
    """One channel, as it was when it was read."""

    def __init__(self, context, pe, k):
        n_channels, n_world = int(context["n_channels"]), int(context["n_world"])
        if not 0 <= pe < int(context["n_pes"]):
            raise gdb.GdbError(f"PE {pe}: the team has PEs 0 to {int(context['n_pes']) - 1}")
        if n_channels == 0:
            raise gdb.GdbError("this context has no channels: no NIC is used")
        if not 0 <= k < n_channels:
            raise gdb.GdbError(f"channel {k}: there are channels 0 to {n_channels - 1}")
        self.pe, self.k = pe, k
        self.context = context
        self.world_pe = int(context["peers"][pe]["world_pe"])
        self.depth = 1 << (int(context["geometry"]) >> 8 & 0xff)  # SHMEMD_LOG_DEPTH
        self.at = int(context["channels"]) + \
            (k * n_world + self.world_pe) * type_of("shmemd_channel_t").sizeof
        words = gdb.Value(self.at).cast(type_of("shmemd_channel_t").pointer()).dereference()
        try:
            for name in ("resv", "ready", "done", "path", "queue", "doorbell", "rung", "flush",
                         "ticket", "doorbells", "requests"):
                setattr(self, name, int(words[name]))
        except gdb.MemoryError:
            raise gdb.GdbError(f"the channel at {self.at:#x} cannot be read: if its memory is a "
                               "GPU's, gdb does not see it") from None

    @staticmethod
    def read_words(address, n):
        memory = bytes(gdb.selected_inferior().read_memory(address, 8 * n))
        return [int.from_bytes(memory[8 * i:8 * i + 8], "little") for i in range(n)]

    def reserved(self):
        return bits(self.resv, 8, 39)

    def published(self):
        return bits(self.ready, 32, 63)

    def completed(self):
        return bits(self.done, 17, 63)

    def base(self):
        return bits(self.path, 16, 31)

    def qpn(self):
        return swap(bits(self.path, 32, 55), 3)


def cqes_text(c):
    """How many CQEs the NIC has written that are not in `done`, and the first error among them."""
    start = bits(c.queue, 0, 55)
    if not start:
        return "none"
    start += c.depth * WQEBB_NBYTES
    first = bits(c.done, 1, 16)
    n = bits(c.ready, 16, 31) - first & 0xffff
    for i in range(n):
        number = first + i
        place = start + (number & c.depth - 1) * WQEBB_NBYTES
        try:
            cqe = bytes(gdb.selected_inferior().read_memory(place, WQEBB_NBYTES))
        except gdb.MemoryError:
            return f"the completion queue at {start:#x} cannot be read"
        opcode, owner = cqe[63] >> 4, cqe[63] & 1
        if opcode == CQE_INVALID or owner != (number & c.depth != 0):
            return f"{i} of {n} that were requested since"
        if opcode != CQE_SUCCESS:
            return f"{i} of {n} that were requested since, then an error: syndrome " \
                f"{cqe[55]:#04x}, vendor's {cqe[54]:#04x}, WQE counter " \
                f"{int.from_bytes(cqe[60:62], 'big')} (the queue pair's index, mod 2^16)"
    return f"all {n} that were requested since"


def ready_text(word):
    flags = [name for bit, name in ((8, "RUNG"), (9, "DEFERRED")) if word >> bit & 1]
    return f"epoch {bits(word, 0, 7)}, {bits(word, 32, 63)} WQEBBs, " \
        f"{bits(word, 16, 31)} CQEs{''.join(', ' + flag for flag in flags)}"


def flush_text(word):
    return f"epoch {bits(word, 0, 7)}, end at WQEBB {bits(word, 32, 63)}, " \
        f"CQE number {bits(word, 16, 31)}"


def path_text(c):
    low = bits(c.path, 0, 7)
    ringer = "the CPU doorbell proxy rings" if low & 4 else "the GPU rings"
    record = "no doorbell record" if low & 2 else "doorbell record"
    status = bits(c.path, 8, 15)
    return f"epoch {c.path >> 56}, QP {c.qpn():#x}, base {c.base()}, " \
        f"key columns {low >> 4 & 1} (own) and {low >> 3 & 1} (peer's), {record}, {ringer}, " + \
        (f"failed: ERR_{STATUS.get(status, status)}" if status else "not failed")


def locked(word):
    return ", locked" if word & 1 else ""


def tagged_text(word):
    return f"{bits(word, 0, 55):#x}, epoch {word >> 56}"


def order_text(context):
    if int(context["switch_order"]) == 0:
        return "none: the job does not tolerate faults of paths"
    order = context["switch_order"].dereference()
    number, carried_out = int(order["number"]), int(order["carried_out"])
    if number == carried_out:
        return f"none pending; {number} carried out"
    return f"number {number} pending: channel {int(order['k'])} to world PE " \
        f"{int(order['world_pe'])}, path epoch {int(order['path']) >> 56}, " \
        f"{int(order['executed'])} requests executed"


def state_text(c):
    """What the channel is doing, in words."""
    if not bits(c.queue, 0, 55):
        return "no NIC reaches this PE"
    waiting = ahead(c.reserved(), c.published())
    under_way = ahead(c.published(), c.completed() & LOW_32)
    room = c.depth - ahead(c.reserved(), c.completed() & LOW_32)
    unrung = 0 if c.ready >> 8 & 1 else ahead(c.published(), bits(c.rung, 32, 63))
    text = [f"{under_way} WQEBBs published beyond done",
            f"{waiting} reserved and not published",
            f"{max(room, 0)} free" + (f", posters wait for {-room}" if room < 0 else "")]
    if unrung:
        text.append(f"doorbell not rung for {unrung}")
    epochs = {bits(c.ready, 0, 7), c.path >> 56, c.queue >> 56, c.doorbell >> 56}
    if len(epochs) > 1 or bits(c.resv, 0, 7) not in epochs:
        text.append("a switch to another path is under way")
    return "; ".join(text)


def wqe_text(memory, index, c):
    """One WQEBB at `index`; None if no WQE of this lap begins there."""
    words = [int.from_bytes(memory[4 * i:4 * i + 4], "big") for i in range(16)]
    opcode, ds = words[0] & 0xff, words[1] & 0x3f
    if words[0] >> 8 & 0xffff != index - c.base() & 0xffff or words[1] >> 8 != c.qpn() or \
            opcode not in OPCODES:
        return None
    text = f"{OPCODES[opcode]}, {ds * 16} bytes"
    if opcode not in NOT_REQUESTS:
        text += f", request {words[3] & 0xffffff}, remote {words[4] << 32 | words[5]:#x}" \
            f" key {words[6]:#x}"
    if opcode == 0x08 and words[8] >> 31:
        text += f", {words[8] & 0x7fffffff} bytes inline"
    elif opcode in (0x08, 0x10):
        text += f", {words[8]} bytes, local {words[10] << 32 | words[11]:#x} key {words[9]:#x}"
    return text + (", requests a CQE" if words[2] & 0x08 else "")


def print_wqes(c):
    start = bits(c.queue, 0, 55)
    end = c.published()
    n = min(N_WQEBBS, c.depth, ahead(end, 0) if end < c.depth else c.depth)
    if not start or n <= 0:
        return
    print(f"  last WQEBBs before {end}, oldest first")
    for i in range(n):
        index = end - n + i & LOW_32
        place = start + (index - c.base() & c.depth - 1) * WQEBB_NBYTES
        try:
            memory = bytes(gdb.selected_inferior().read_memory(place, WQEBB_NBYTES))
        except gdb.MemoryError:
            print(f"    the send queue at {start:#x} cannot be read")
            return
        text = wqe_text(memory, index, c) or "no WQE begins here"
        done = "before done" if ahead(c.completed() & LOW_32, index) > 0 else "published"
        print(f"    {index}  {text}; {done}")


def print_channel(c):
    print(f"channel {c.k} to PE {c.pe} (world PE {c.world_pe}) at {c.at:#x}, depth {c.depth}")
    rows = (
        ("reservation", f"epoch {bits(c.resv, 0, 7)}, {c.reserved()} WQEBBs, "
                        f"{bits(c.resv, 40, 63)} requests"),
        ("ready", ready_text(c.ready)),
        ("rung", f"{bits(c.rung, 32, 63)} WQEBBs{locked(c.rung)}" +
                 (" (not valid: ready has RUNG)" if c.ready >> 8 & 1 else "")),
        ("done", f"{c.completed()} WQEBBs, {bits(c.done, 1, 16)} CQEs{locked(c.done)}"),
        ("CQEs", cqes_text(c)),
        ("flush", flush_text(c.flush)),
        ("path", path_text(c)),
        ("queue", tagged_text(c.queue)),
        ("doorbell", tagged_text(c.doorbell)),
        ("order", order_text(c.context)),
        ("counters", f"{c.doorbells} doorbells, {c.requests} requests, "
                     f"{c.ticket} tickets of bounce buffers"),
        ("state", state_text(c)),
    )
    for name, text in rows:
        print(f"  {name:12} {text}")
    print_wqes(c)


class ChannelCommand(gdb.Command):
    """shmemd-channel PE CHANNEL [CONTEXT]: print a channel of shmem_dev.

    PE counts the members of the context's team. CONTEXT: a shmemd_ctx_t, a pointer to one, a
    struct with a member ctx, or a job; without it one is searched for in the frames of the
    selected thread."""

    def __init__(self):
        super().__init__("shmemd-channel", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        arguments = argument.split(None, 2)
        if len(arguments) < 2:
            raise gdb.GdbError("usage: shmemd-channel PE CHANNEL [CONTEXT]")
        pe, k = (int(gdb.parse_and_eval(text)) for text in arguments[:2])
        if len(arguments) == 3:
            context = as_context(gdb.parse_and_eval(arguments[2]))
            if context is None:
                raise gdb.GdbError(f"{arguments[2]} is no context and has none as a member ctx")
        else:
            context = find_context()
        print_channel(Channel(context, pe, k))


ChannelCommand()
