"""JAX in several processes. `jax.distributed.initialize` wants the address of a coordinator, which rank 0 serves: it
takes a port that is free and says so to the others through the store of the launcher (launcher_store.py)."""
import os
import socket

from launcher_store import Store

import jax

STEPS = 50


def coordinator(store, rank):
    """HOST:PORT where rank 0's coordinator listens, and what keeps the port reserved until it does."""
    key, attempt = "jax/coordinator", os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if rank != 0:
        return store.get(f"{key}/{attempt}").decode(), None
    held = socket.socket()  # bound, not listening: the coordinator binds beside it (SO_REUSEPORT), nobody else is given it
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind((store.own_address(), 0))
    address = "%s:%d" % held.getsockname()
    store.set(f"{key}/{attempt}", address.encode())
    return address, held


def main():
    rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    address, held = coordinator(Store(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), rank)
    if jax.config.jax_platforms == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, num_processes=world, process_id=rank, local_device_ids=[local] if
                               jax.config.jax_platforms != "cpu" else None, cluster_detection_method="deactivate")
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    def loss_of(weights, x, y):
        return jnp.mean((jnp.tanh(x @ weights["a"]) @ weights["b"] - y) ** 2)

    @jax.jit
    def step_of(weights, x, y):
        loss, slope = jax.value_and_grad(loss_of)(weights, x, y)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, slope), loss

    first = np.random.default_rng(0)  # the same start on every rank
    weights = {"a": first.normal(size=(8, 32)) / 3, "b": first.normal(size=(32, 1)) / 6}
    weights = {name: jax.make_array_from_process_local_data(everywhere, w.astype(np.float32)) for name, w in weights.items()}
    data = np.random.default_rng(1000 + rank)  # other data on every rank
    for step in range(1, STEPS + 1):
        x = data.normal(size=(64, 8)).astype(np.float32)
        y = np.tanh(x.sum(1, keepdims=True))
        weights, loss = step_of(weights, *(jax.make_array_from_process_local_data(split, part) for part in (x, y)))
        if rank == 0 and step in (1, STEPS):
            print(f"step {step} loss {float(loss):.9f}", flush=True)
    print(f"rank {rank} of {jax.process_count()}: {jax.device_count()} devices, {jax.local_device_count()} of them here", flush=True)
    jax.distributed.shutdown()
    if held:
        held.close()


if __name__ == "__main__":
    main()
