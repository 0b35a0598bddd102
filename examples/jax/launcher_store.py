"""The least that a program without PyTorch needs of the store at MASTER_ADDR:MASTER_PORT: set, and get that waits.
The protocol is that of PyTorch's TCPStore (2.5 and later)."""
import os
import socket
import struct

VALIDATE, SET, GET, WAIT, PING = 0, 1, 3, 6, 13
MAGIC, STOP_WAITING = 0x3C85F7CE, 0


class Store:
    def __init__(self, host, port, timeout=300.0):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        # The answer matters: a set has none, and what a client has sent that is gone before the store has looked whose
        # it is (this user's, or a stranger's) does not count.
        self.socket.sendall(struct.pack("=BIBI", VALIDATE, MAGIC, PING, os.getpid()))
        self._read(4)

    def own_address(self):
        """Of this host, as seen from the store: where the other ranks reach it."""
        return self.socket.getsockname()[0]

    def set(self, key, value):
        self.socket.sendall(struct.pack("=B", SET) + self._text(key.encode()) + self._text(value))

    def get(self, key):
        """The value; waits until somebody has set the key."""
        self.socket.sendall(struct.pack("=BQ", WAIT, 1) + self._text(key.encode()))
        if self._read(1)[0] != STOP_WAITING:
            raise RuntimeError(f"the store does not give {key}")
        self.socket.sendall(struct.pack("=B", GET) + self._text(key.encode()))
        return self._read(struct.unpack("=Q", self._read(8))[0])

    @staticmethod
    def _text(data):
        return struct.pack("=Q", len(data)) + data

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the store has closed the connection")
            data += part
        return data
