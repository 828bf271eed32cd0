"""Ranks under Slurm, with several node daemons on this machine: `python3 clients/slurm.py [--nodes N] [--ranks-per-node N]`.

Needs Debian's packages slurmctld, slurmd and munge, and root: the daemons run from a folder of their own, on ports of
their own, and end with this program. Submits deploy/slurm.sbatch three times, with simulated cards: sound ones, one with
half of its link, and one whose rank is killed. Each time the exit status of the job and the verdict have to be right.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "deploy" / "slurm.sbatch"
CONTROLLER, FIRST_NODE = 27817, 27821

CONFIGURATION = """\
ClusterName=coalesce
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPort={controller}
NodeName=node[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# The program of each rank: rank 3 may have another card, or die.
RANK = """\
#!/bin/sh
if [ "$1" = run ] && [ "${{SLURM_PROCID:-}}" = 3 ]; then {rank_3}; fi
exec {program} "$@"
"""


@contextlib.contextmanager
def daemons(folder, nodes, cpus):
    """The controller and the node daemons, until they are not needed any more."""
    if subprocess.run(["munge", "-n"], capture_output=True).returncode != 0:
        subprocess.run(["service", "munge", "start"], check=True)
    last = FIRST_NODE + nodes - 1
    text = CONFIGURATION.format(
        folder=folder, nodes=nodes, cpus=cpus, controller=CONTROLLER, first=FIRST_NODE, last=last
    )
    configuration = folder / "slurm.conf"
    configuration.write_text(text)
    os.environ["SLURM_CONF"] = str(configuration)
    (folder / "state").mkdir()
    commands = [["slurmctld", "-D", "-c", "-f", configuration]]
    for node in range(1, nodes + 1):
        (folder / f"spool-node{node}").mkdir()
        commands.append(["slurmd", "-D", "-N", f"node{node}", "-f", configuration])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        wait_for_nodes(nodes)
        yield
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(timeout=30)


def wait_for_nodes(nodes):
    for _ in range(120):
        states = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True).stdout.split()
        if states == ["idle"] * nodes:
            return
        time.sleep(0.5)
    sys.exit(f"the node daemons do not come up: {states}; slurmd's logs say why")


def submit(folder, name, nodes, ranks_per_node, program, rank_3):
    """Submits the script, and returns the job's exit status and what the judge found."""
    rank = folder / f"{name}.sh"
    rank.write_text(RANK.format(program=program, rank_3=rank_3))
    rank.chmod(0o755)
    results = folder / name
    variables = {**os.environ, "COALESCE": str(rank), "RESULTS": str(results), "DEVICE": "sim:h200"}
    words = [f"--nodes={nodes}", f"--ntasks-per-node={ranks_per_node}", "--cpus-per-task=1", "--gpus-per-node=0"]
    words += ["--gres=none", f"--output={folder}/{name}.log", "--wait", "--parsable"]
    job = subprocess.run(["sbatch", *words, SCRIPT], env=variables, capture_output=True, text=True)
    log = (folder / f"{name}.log").read_text()
    (run,) = results.glob("slurm-*")
    report = subprocess.run([program, "fleet", run, "--json"], capture_output=True, text=True).stdout
    return job.returncode, log, json.loads(report)


def expect(name, condition, log):
    if not condition:
        sys.exit(f"{name}: not as expected. The job's log:\n{log}")
    print(f"{name}: as expected", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ranks-per-node", type=int, default=2)
    parser.add_argument("--program", help="the program, instead of one that is built now")
    options = parser.parse_args()
    missing = [name for name in ("slurmctld", "slurmd", "munge", "sbatch") if not shutil.which(name)]
    if missing:
        sys.exit(f"{', '.join(missing)} not found: apt-get install slurmctld slurmd munge")
    program = options.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "host"], cwd=ROOT, check=True)
        program = ROOT / "target" / "release" / "coalesce"
    nodes, each = options.nodes, options.ranks_per_node
    ranks = nodes * each
    with tempfile.TemporaryDirectory() as folder, daemons(Path(folder), nodes, each):
        folder = Path(folder)
        slow = folder / "slow.toml"
        slow.write_text('extends = "h200"\nname = "NVIDIA H200"\nhost_link_gb_per_s = 27.7\n')

        status, log, report = submit(folder, "sound", nodes, each, program, ":")
        sound = status == 0 and report["cards"] == ranks and not report["findings"]
        expect(f"{ranks} sound cards on {nodes} nodes", sound, log)

        other = f"exec {program} run --fleet $3 --device sim:{slow} --replace"
        status, log, report = submit(folder, "slow", nodes, each, program, other)
        found = [(finding["fault"], finding["cards"][0]["rank"]) for finding in report["findings"]]
        expect("a card with half of its link", status == 1 and found == [("link", 3)], log)

        status, log, report = submit(folder, "died", nodes, each, program, "kill -9 $$")
        missing = [trouble for trouble in report["troubles"] if trouble["trouble"] == "missing-ranks"]
        died = status != 0 and len(missing) == 1 and missing[0]["missing"] == [[3, 3]]
        expect("a rank that is killed", died and report["cards"] == ranks - 1, log)


if __name__ == "__main__":
    main()
