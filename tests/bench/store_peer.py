#!/usr/bin/env python3
"""PyTorch's own TCPStore server as a peer for store_load: prints "listening HOST:PORT", ends with its input.

store_peer.py [libuv|poll]
"""
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

kind = sys.argv[1] if len(sys.argv) > 1 else "libuv"
more = {"use_libuv": kind == "libuv"} if tuple(int(x) for x in torch.__version__.split(".")[:2]) >= (2, 2) else {}
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=30), **more)
print(f"listening 127.0.0.1:{store.port}", flush=True)
sys.stdin.read()
