"""Runs that want more than their limits, a name each, with the endings that are right.

A memory bomb says `through` when it held twice its memory for a while. Each is Python, after PRELUDE.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

from workers.ports import Ending, Limits

LIMITS = Limits(wall_seconds=60, cpu_seconds=40, memory_mb=192, processes=48, disk_mb=24, output_kb=256, report_kb=256)

PRELUDE = """
import ctypes, itertools, mmap, os, resource, signal, socket, struct, sys, threading, time
REPORT = int(os.environ["APPRENTICE_REPORT_FD"])
MB = 1 << 20
TARGET = 384 * MB
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p

def through():
    time.sleep(3)
    os.write(REPORT, b"through\\n")

def spread(work, count):
    "Have so many children do `work`, and stay; it is through when all of them are done."
    done, ready = os.pipe()
    for number in range(count):
        if not os.fork():
            kept = work(number)
            os.write(ready, b"x")
            time.sleep(3600)
    os.close(ready)
    seen = 0
    while seen < count:
        piece = os.read(done, count)
        if not piece:
            sys.exit("a child died")
        seen += len(piece)
    through()

def filled(end, piece, flags=0):
    end.setblocking(False)
    try:
        while end.send(piece, flags):
            pass
    except (BlockingIOError, OSError):
        return end

def pairs(count, kind=socket.SOCK_STREAM, prepare=lambda end: None):
    made = []
    for _ in range(count):
        for end in socket.socketpair(socket.AF_UNIX, kind):
            prepare(end)
            made.append(filled(end, b"x" * 65536) or end)
    return made

def connections(count, piece=b"x" * 65536, flags=0):
    server, made = socket.create_server(("127.0.0.1", 0)), []
    for _ in range(count):
        client = socket.create_connection(server.getsockname())
        made += [client, server.accept()[0]]
        for end in made[-2:]:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            filled(end, piece, flags)
    return made

def shared(size):
    memory = mmap.mmap(-1, size)
    for start in range(0, size, MB):
        memory[start : start + MB] = b"x" * MB
    return memory
"""

MEMORY: dict[str, str] = {
    "private memory of many processes": "spread(lambda _: bytearray(os.urandom(MB)) * 16, 24)",
    "processes that hide their memory": """
        def work(_):
            LIBC.prctl(4, 0, 0, 0, 0)
            return bytearray(os.urandom(MB)) * 16
        spread(work, 24)
    """,
    "shared memory that no process maps now": """
        def work(_):
            kept = []
            for _ in range(6):
                kept.append(shared(8 * MB))
                kept[-1].madvise(mmap.MADV_DONTNEED)
            return kept
        spread(work, 8)
    """,
    "shared memory filled by the dead": """
        kept = [mmap.mmap(-1, 8 * MB) for _ in range(48)]
        for each in kept:
            if not os.fork():
                for start in range(0, len(each), MB):
                    each[start : start + MB] = b"x" * MB
                os._exit(0)
            os.wait()
        through()
    """,
    "shared memory cut to a page": """
        def work(_):
            for _ in range(6):
                place = LIBC.mmap(None, ctypes.c_size_t(8 * MB), 3, 0x21, -1, ctypes.c_long(0))
                ctypes.memset(place, 1, 8 * MB)
                LIBC.munmap(ctypes.c_void_p(place + 4096), ctypes.c_size_t(8 * MB - 4096))
        spread(work, 8)
    """,
    "page tables": """
        def work(_):
            limit = resource.getrlimit(resource.RLIMIT_AS)[0]
            size = (limit if limit > 0 else 1 << 36) - 512 * MB
            kept = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
            for start in range(0, size, 2 * MB):
                kept[start]
            return kept
        spread(work, 10)
    """,
    "mappings": """
        def work(_):
            place = LIBC.mmap(None, ctypes.c_size_t(512 * MB), 0, 0x22, -1, ctypes.c_long(0))
            for page in range(0, 65000, 2):
                LIBC.mprotect(ctypes.c_void_p(place + 4096 * page), ctypes.c_size_t(4096), 1)
        spread(work, 26)
    """,
    "local sockets": "spread(lambda _: pairs(480), 2)",
    "local datagrams": "spread(lambda _: pairs(480, socket.SOCK_DGRAM), 4)",
    "local sockets with large buffers": """
        spread(lambda _: pairs(240, prepare=lambda end: end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * MB)), 4)
    """,
    "sockets in flight": """
        for number in range(900):
            if number % 100 == 0:
                carrier, other = socket.socketpair()
            ends = pairs(1)
            socket.send_fds(carrier, [b"x"], [end.fileno() for end in ends])
            kept = (globals().get("kept") or []) + [carrier, other]
        through()
    """,
    "connections": "spread(lambda _: connections(60), 2)",
    "connections with small pieces": "spread(lambda _: connections(60, b'x', socket.MSG_EOR), 2)",
    "datagrams": """
        def work(_):
            made = []
            for _ in range(500):
                end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                end.bind(("127.0.0.1", 0))
                for _ in range(200):
                    end.sendto(b"x" * 1400, end.getsockname())
                made.append(end)
            return made
        spread(work, 4)
    """,
    "empty files": """
        def work(number):
            for each in range(100_000):
                os.close(os.open(f"/tmp/{number}-{each}", os.O_CREAT | os.O_WRONLY))
        spread(work, 4)
    """,
    "directories": """
        def work(number):
            for each in range(200_000):
                os.mkdir(f"/dev/shm/{number}-{each}")
        spread(work, 2)
    """,
    "second names of a file": """
        open("/tmp/one", "w").close()
        def work(number):
            for each in range(100_000):
                os.link("/tmp/one", f"/tmp/{number}-{each}")
        spread(work, 4)
    """,
    "attributes of files": """
        for each in range(6400):
            os.close(os.open(f"/tmp/{each}", os.O_CREAT | os.O_WRONLY))
            os.setxattr(f"/tmp/{each}", "user.x", b"x" * 65000)
        through()
    """,
    "files and processes together": """
        TARGET = 290 * MB
        for place in ("/tmp", "/workspace", "/dev/shm"):
            with open(place + "/big", "wb", buffering=0) as stream:
                try:
                    while stream.write(b"x" * MB):
                        pass
                except OSError:
                    pass
        spread(lambda _: bytearray(os.urandom(MB)) * 16, 8)
    """,
    "pipes": """
        def work(_):
            for _ in range(500):
                end = os.pipe()[1]
                os.set_blocking(end, False)
                try:
                    while os.write(end, b"x" * 65536):
                        pass
                except BlockingIOError:
                    pass
        spread(work, 40)
    """,
}
"""Each has to end by the memory limit, or to fail by itself."""

OTHERS: dict[str, tuple[str, Ending]] = {
    "endless sleep": ("time.sleep(10**6)", Ending.WALL_TIME),
    "computing in every process": ("[os.fork() for _ in range(3)]\nwhile True: pass", Ending.CPU_TIME),
    "computing in children that end": (
        """
        def burn():
            until = time.process_time() + 0.1
            while time.process_time() < until: pass
        while True:
            if not os.fork():
                burn()
                os._exit(0)
            os.wait()
        """,
        Ending.CPU_TIME,
    ),
    "computing in orphans": (
        """
        while True:
            if not os.fork():
                if not os.fork():
                    [None for _ in range(10**6)]
                os._exit(0)
            os.wait()
        """,
        Ending.CPU_TIME,
    ),
    "deaf to signals": (
        "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\nwhile True: pass",
        Ending.CPU_TIME,
    ),
    "fork bomb": ("while True:\n    try: os.fork()\n    except OSError: pass", Ending.CPU_TIME),
    "flood of output": ("while True: os.write(1, b'x' * 65536)", Ending.OUTPUT),
    "flood of errors": ("while True: os.write(2, b'x' * 65536)", Ending.OUTPUT),
    "flood of reports": ("while True: os.write(REPORT, b'{' * 65536)", Ending.OUTPUT),
    "kill everything": ("if not os.fork(): os.kill(-1, signal.SIGKILL)\ntime.sleep(10**6)", Ending.KILLED),
    "stop the parent": (
        """
        try:
            os.kill(os.getppid(), signal.SIGSTOP)
        except PermissionError:
            pass
        """,
        Ending.EXITED,
    ),
    "daemons that keep the pipes": (
        """
        for _ in range(20):
            if not os.fork():
                os.setsid()
                if not os.fork():
                    time.sleep(10**6)
                os._exit(0)
        """,
        Ending.EXITED,
    ),
}
"""Each has exactly this ending."""


def limits_of(name: str) -> Limits:
    """A short time where the ending is that of time, and enough of it elsewhere."""
    if name not in OTHERS:
        return LIMITS
    slept, computed = (OTHERS[name][1] is ending for ending in (Ending.WALL_TIME, Ending.CPU_TIME))
    return replace(LIMITS, wall_seconds=2 if slept else 120, cpu_seconds=2 if computed else 40)


def code_of(name: str) -> str:
    """The whole program."""
    return PRELUDE + textwrap.dedent(MEMORY.get(name) or OTHERS[name][0])
