"""The third way: a framework. The one line that matters is set_device; everything after it may say "cuda"."""
import os
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)

local_rank = int(os.environ.get("LOCAL_RANK", 0))
torch.cuda.set_device(local_rank)
uuid = str(getattr(torch.cuda.get_device_properties(local_rank), "uuid", ""))  # PyTorch 2.5 and later
print(f"rank {os.environ.get('RANK', '?')}: cuda:{local_rank} is GPU-{uuid}")
planned = os.environ.get("MUSTER_GPU_UUID")
if planned and uuid and planned[4:] != uuid:
    print(f"rank {os.environ['RANK']}: muster planned {planned}")
    sys.exit(1)
