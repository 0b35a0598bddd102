"""The settings of an `accelerate config` file, without `accelerate launch`: they reach a program as variables, which
Accelerate itself works out here; then the launcher takes this process's place.

    with_config.py config.yaml muster train.py
    with_config.py config.yaml torchrun --nproc-per-node 2 train.py

What a launcher decides (number of processes, addresses, GPUs) is not taken from the file."""
import os
import sys

from accelerate.commands import launch
from accelerate.utils.launch import prepare_multi_gpu_env, prepare_simple_launcher_cmd_env

SETTINGS = ("ACCELERATE_", "FSDP_", "MEGATRON_LM_", "PARALLELISM_CONFIG_")


def settings(config):
    args = launch.launch_command_parser().parse_args(["--config_file", config, "program.py"])
    args = launch._validate_launch_command(args)[0]
    made = prepare_simple_launcher_cmd_env(args)[1] if args.use_cpu else prepare_multi_gpu_env(args)
    return {name: value for name, value in made.items() if name.startswith(SETTINGS)}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    os.execvpe(sys.argv[2], sys.argv[2:], {**os.environ, **settings(sys.argv[1])})


if __name__ == "__main__":
    main()
