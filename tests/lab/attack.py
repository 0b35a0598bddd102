#!/usr/bin/env python3
"""What strangers send to a head's port: attack.py VERB HOST PORT [ARGUMENT].

    garbage          bytes of no protocol; waits for the close
    oversized        the opening of a link that announces a frame of 4 GiB
    truncated        half the opening of a link, then the end
    idle N           N connections that stay silent; prints "open N" and holds them until standard input ends
    add KEY          a c10d client that adds 1 to KEY: prints the sum, or "refused"
    record FILE      a relay on a port of its own ("listening PORT") that keeps what the first client sent in FILE
    desert FILE      sends the opening that FILE begins with, and closes
    replay FILE      sends what FILE holds, the same bytes again; prints "refused" if nothing but an opening came back

Each ends with 0 when the other side behaved as it should: closed what is no peer.
"""
import os
import select
import socket
import struct
import sys

PATIENCE_S = 60  # bounds every wait; a good peer closes long before
MAGIC = b"MSTR"
AGENT_OPENING = 56  # what an agent says first: magic, versions, the job's tag, nonce
HEAD_OPENING = 72  # bytes that a head may say to an agent it does not know yet: magic, version, nonce, proof


def connect(host, port):
    s = socket.create_connection((host, int(port)), PATIENCE_S)
    s.settimeout(PATIENCE_S)
    return s


def read_to_end(s):
    got = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                return got
            got += piece
    except ConnectionError:
        return got


def send_and_see(host, port, data, is_over=False):
    """What comes back until the other side closes. A peer that keeps the connection open is an error."""
    s = connect(host, port)
    try:
        s.sendall(data)
        if is_over:
            s.shutdown(socket.SHUT_WR)
    except ConnectionError:
        pass
    return read_to_end(s)


def garbage(host, port):
    for data in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" + os.urandom(512), b"\xff" * 70000, b"MSTQ" + b"\0" * 100):
        if len(send_and_see(host, port, data)) > HEAD_OPENING:
            raise SystemExit("garbage was answered")


def opening():
    return MAGIC + bytes([1, 1, 1, 0]) + os.urandom(16) + os.urandom(32)


def oversized(host, port):
    send_and_see(host, port, opening() + os.urandom(32) + struct.pack("<I", 0xFFFFFFFF) + b"x" * 4096)
    send_and_see(host, port, opening() + os.urandom(32) + struct.pack(">I", 0xFFFFFFFF) + b"x" * 4096)


def truncated(host, port):
    for size in (1, 4, 5, 30, 55):
        send_and_see(host, port, opening()[:size], True)


def idle(host, port, count):
    held = []
    for _ in range(int(count)):
        try:
            held.append(connect(host, port))
        except OSError:  # the other side's limit is a good answer
            break
    print("open", len(held), flush=True)
    sys.stdin.buffer.read()


def add(host, port, key):
    name = key.encode()
    s = connect(host, port)
    try:
        s.sendall(b"\0" + struct.pack("=I", 0x3C85F7CE) + b"\4" + struct.pack("=Q", len(name)) + name + struct.pack("=q", 1))
        got = s.recv(8)
    except ConnectionError:
        got = b""
    print(struct.unpack("=q", got)[0] if len(got) == 8 else "refused")


def record(host, port, path):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(8)
    print("listening", server.getsockname()[1], flush=True)
    near = server.accept()[0]
    far = connect(host, port)
    with open(path, "wb") as f:
        while True:
            for s in select.select([near, far], [], [])[0]:
                data = s.recv(65536)
                if not data:
                    return
                if s is near:
                    f.write(data)
                    f.flush()
                (far if s is near else near).sendall(data)


def desert(host, port, path):
    with open(path, "rb") as f:
        if len(send_and_see(host, port, f.read(AGENT_OPENING), True)) > HEAD_OPENING:
            raise SystemExit("an opening was answered with more than one")


def replay(host, port, path):
    with open(path, "rb") as f:
        got = send_and_see(host, port, f.read())
    print("refused" if len(got) <= HEAD_OPENING else f"answered with {len(got)} bytes")


def main():
    verbs = {f.__name__: f for f in (garbage, oversized, truncated, idle, add, record, desert, replay)}
    if len(sys.argv) < 4 or sys.argv[1] not in verbs:
        raise SystemExit(__doc__)
    verbs[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
