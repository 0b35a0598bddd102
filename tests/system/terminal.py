#!/usr/bin/env python3
"""Runs a command on a pseudo-terminal of its own, as its session's foreground group, and types.

    terminal.py SCRIPT COMMAND...

SCRIPT holds one action a line:
    expect TEXT     go on when TEXT has appeared in what the command printed since the last expect
    type TEXT       types it; \\n is Enter, \\x03 is Ctrl-C, \\x1a is Ctrl-Z
    size ROWS COLS  resizes the terminal (SIGWINCH)
    hangup          closes the terminal (SIGHUP)
After the last action the output is read to its end. Prints everything the command printed. Exits with
its status, 128+N if signal N ended it, 124 if something expected did not come within 120 s.
"""
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time

DEADLINE_S = 120


class Terminal:
    def __init__(self, command):
        self.master, slave = os.openpty()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            os.login_tty(slave) if hasattr(os, "login_tty") else login_tty(slave)
            try:
                os.execvp(command[0], command)
            except OSError as e:
                os.write(2, f"{command[0]}: {e.strerror}\n".encode())
                os._exit(127)
        os.close(slave)
        self.seen, self.mark, self.end = b"", 0, time.monotonic() + DEADLINE_S

    def read_some(self):
        """False at the end of the output."""
        left = self.end - time.monotonic()
        if left <= 0 or not select.select([self.master], [], [], left)[0]:
            raise TimeoutError
        try:
            data = os.read(self.master, 65536)
        except OSError:  # EIO: the last process closed the terminal
            data = b""
        self.seen += data
        return bool(data)

    def expect(self, text):
        while text not in self.seen[self.mark:]:
            if not self.read_some():
                raise TimeoutError
        self.mark = self.seen.index(text, self.mark) + len(text)

    def act(self, line):
        verb, _, rest = line.partition(" ")
        text = rest.encode().decode("unicode_escape").encode("latin-1")
        if verb == "expect":
            self.expect(text)
        elif verb == "type":
            os.write(self.master, text)
        elif verb == "size":
            rows, columns = map(int, rest.split())
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        elif verb == "hangup":
            os.close(self.master)
            self.master = -1
        else:
            raise SystemExit(f"terminal.py: unknown action '{verb}'")

    def finish(self):
        while self.master >= 0 and self.read_some():
            pass
        while time.monotonic() < self.end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        raise TimeoutError


def login_tty(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    if slave > 2:
        os.close(slave)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        actions = [line.rstrip("\n") for line in f if line.strip()]
    terminal = Terminal(sys.argv[2:])
    try:
        for line in actions:
            terminal.act(line)
        code = terminal.finish()
    except TimeoutError:
        print("terminal.py: what was expected did not come", file=sys.stderr)
        os.kill(terminal.pid, signal.SIGKILL)
        code = 124
    sys.stdout.buffer.write(terminal.seen)
    sys.stdout.flush()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
