#!/usr/bin/env python3
"""A name server that takes its time: slow_dns.py ADDRESS SECONDS NAME=IPV4... Says "listening" once it is asked."""
import socket
import struct
import sys
import time


def name_of(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), at + 5


def answer(query, names):
    name, end = name_of(query)
    is_a = struct.unpack(">H", query[end - 4:end - 2])[0] == 1
    known = name in names
    found = is_a and known
    head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, int(found), 0, 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + socket.inet_aton(names[name]) if found else b""
    return head + query[12:end] + record


def main():
    names = dict(word.split("=") for word in sys.argv[3:])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((sys.argv[1], 53))
    print("listening", flush=True)
    while True:
        query, peer = s.recvfrom(2048)
        time.sleep(float(sys.argv[2]))  # this is what the test is about
        s.sendto(answer(query, names), peer)


if __name__ == "__main__":
    main()
