#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jobs_test.sh [VENV]: what people start below `afterglow run`, as an ordinary user: torchrun and a DataLoader of Debian's PyTorch, a notebook
# with real Ray in it, and Ray that `ray up` starts by ssh. VENV has Ray, nbconvert, ipykernel and the wheel, and a Python that others may
# run; without it one is made from PyPI. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
# What follows has no network.
if [ $# = 0 ]; then
	tools/apt-install.sh python3-torch openssh-server openssh-client rsync
	made=$(mktemp -d /var/tmp/jobs_venv.XXXXXX)
	chmod 755 "$made"
	trap 'rm -rf "$made"' EXIT
	/usr/bin/python3 -m venv "$made" && "$made/bin/pip" install --quiet --disable-pip-version-check ray nbconvert ipykernel build/wheel/*.whl &&
		e2e/wheel/jobs_test.sh "$made"
	exit
fi
# Processes, mounts, network and host name are its own.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m -n -u -p -f --kill-child --mount-proc e2e/wheel/jobs_test.sh "$@"
venv=$1
work=$(mktemp -d /var/tmp/jobs_test.XXXXXX)
home=$work/home
build=''
. e2e/kernel/check.sh

finish() {
	jobs -p | xargs -r kill 2>/dev/null
	rm -rf --one-file-system "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

hostname node1
ip link set lo up
ip addr add 10.79.0.1/24 dev lo
chmod 755 "$work"
install -d -o 65532 -g 65532 "$home"
{ cat /etc/hosts && echo "10.79.0.1 node1"; } >"$work/hosts"
{ cat /etc/passwd && echo "tester:x:65532:65532::$home:/bin/bash"; } >"$work/passwd"
for name in hosts passwd; do mount --bind "$work/$name" "/etc/$name"; done
mount -t tmpfs tmpfs /run
# Ray's sockets have to have short paths, and other Rays of this machine are not ours.
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm

# Runs words of a shell as the user.
as_user() {
	env -C "$home" setpriv --reuid=65532 --regid=65532 --clear-groups env -i HOME="$home" PATH="$venv/bin:/usr/bin:/bin" LANG=C.UTF-8 \
		sh -c "ulimit -c unlimited 2>/dev/null; $1"
}
run() { # WORDS: of afterglow run
	as_user "rm -rf .local core*; afterglow run -- $1" >"$work/out" 2>"$work/err"
	code=$?
}
says() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; }
listed() { as_user 'afterglow list' >"$work/list" 2>&1 && tr -s ' ' <"$work/list" | grep -Eq "$1"; }

# A process that lives for a moment is gone before it can be watched: the processes of these tests first wait until the launcher has a descriptor
# of them, for at most a minute.
cat >"$home/watched.py" <<'CODE'
import glob, os, time
def wait_until_watched():
    launcher = open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[1]
    for _ in range(600):
        for path in glob.glob(f"/proc/{launcher}/fdinfo/*"):
            try:
                if f"\nPid:\t{os.getpid()}\n" in open(path).read():
                    return
            except OSError:
                pass
        time.sleep(0.1)
CODE
# Rank 1 of two ends as its first word says; `once` is a file that makes the second try a good one.
cat >"$home/rank.py" <<'CODE'
import ctypes, os, sys
import torch.distributed
from watched import wait_until_watched
torch.distributed.init_process_group("gloo")
if torch.distributed.get_rank() == 1 and not os.path.exists("once"):
    if sys.argv[2:]:
        open("once", "w").close()
    wait_until_watched()
    {"segv": lambda: ctypes.string_at(0), "abort": os.abort, "kill": lambda: os.kill(os.getpid(), 9), "exception": lambda: 1 / 0}[sys.argv[1]]()
torch.distributed.barrier()
CODE
# Without the last two options the torchrun of Debian 12 fails, as its Python is newer than it is.
torchrun='/usr/bin/torchrun --standalone --nproc_per_node=2 --redirects=1 --tee=1'
died() { # SENTENCE WORDS: of a parent that its child's end makes end with 1
	check "$1: the exit code is the parent's" test "$code" = 1
	check "$1: the report says how the child ended" says "$2"
	check "$1: the parent was not killed" says 'class ApplicationError, '
}
run "$torchrun rank.py segv"
died "a rank crashes" 'had crashed with SIGSEGV'
run "$torchrun rank.py abort"
died "a rank aborts" 'had crashed with SIGABRT'
run "$torchrun rank.py kill"
died "a rank is killed" 'was ended by SIGKILL'
run "$torchrun rank.py exception"
check "a rank has an exception: the exit code is torchrun's" test "$code" = 1
check "a rank has an exception: no crash is made of it" says 'class ApplicationError, '
check "a rank has an exception: nobody was killed" test "$(grep -cE 'had crashed|was ended by' "$work/err")" = 0
run "$torchrun --max_restarts=1 rank.py segv once"
check "a rank crashes and the next try is good: the exit code is 0" test "$code" = 0
check "a rank crashes and the next try is good: the crash is reported" says 'class Segfault'

cat >"$home/loader.py" <<'CODE'
import ctypes, os, sys
import torch.utils.data
from watched import wait_until_watched
class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, at):
        if at == 9:
            wait_until_watched()
            {"segv": lambda: ctypes.string_at(0), "kill": lambda: os.kill(os.getpid(), 9), "exit": lambda: os._exit(3)}[sys.argv[1]]()
        return at
for batch in torch.utils.data.DataLoader(Samples(), batch_size=4, num_workers=2):
    pass
CODE
run '/usr/bin/python3 loader.py segv'
died "a DataLoader's worker crashes" 'had crashed with SIGSEGV'
run '/usr/bin/python3 loader.py kill'
died "a DataLoader's worker is killed" 'was ended by SIGKILL'
run '/usr/bin/python3 loader.py exit'
check "a DataLoader's worker exits: the exit code is the parent's" test "$code" = 1
check "a DataLoader's worker exits: nobody was killed" test "$(grep -cE 'had crashed|was ended by' "$work/err")" = 0

notebook() { # CELL...: each a line of Python, or several
	/usr/bin/python3 - "$@" >"$home/book.ipynb" <<-'CODE'
		import json, sys
		cells = [dict(cell_type="code", id=f"cell{n}", metadata={}, outputs=[], execution_count=None, source=source) for n, source in enumerate(sys.argv[1:])]
		kernel = dict(name="python3", display_name="Python 3", language="python")
		json.dump(dict(nbformat=4, nbformat_minor=5, metadata=dict(kernelspec=kernel), cells=cells), sys.stdout)
	CODE
	run 'python -m nbconvert --to notebook --execute --output done.ipynb book.ipynb'
}
start='import ctypes, os, ray
ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)
@ray.remote(max_retries=0)
def load_samples():
    ctypes.string_at(0)'
notebook "$start" 'try:
    ray.get(load_samples.remote())
except ray.exceptions.WorkerCrashedError:
    print("went on")' 'ray.shutdown()'
check "a task crashes and its notebook goes on: the exit code is 0" test "$code" = 0
check "a task crashes and its notebook goes on: it did" grep -q 'went on' "$home/done.ipynb"
check "a task crashes and its notebook goes on: the task is named" says 'class (WorkerCrash|Segfault), .*load_samples'
notebook "$start" 'os.kill(ray._private.worker._global_node.all_processes["raylet"][0].process.pid, 9)' 'import time; time.sleep(60)'
check "a notebook's raylet is killed: it is listed" listed '^python RayletFailed (certain|likely)'
notebook "$start" 'os.kill(ray._private.worker._global_node.all_processes["raylet"][0].process.pid, 9)
ray.shutdown()'
check "a notebook's raylet is killed and Ray is stopped at once: the exit code is 0" test "$code" = 0
check "a notebook's raylet is killed and Ray is stopped at once: it is listed" listed '^python RayletFailed (certain|likely)'
notebook "$start" 'ray.shutdown()'
check "a notebook stops Ray: nothing is listed" test "$(as_user 'afterglow list' 2>&1)" = 'No failures were found.'
notebook 'import ctypes' 'ctypes.string_at(0)'
died "a notebook's kernel crashes" 'had crashed with SIGSEGV'

# `ray up` runs its start commands by ssh on the head, which is this machine.
install -d /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
as_user 'mkdir -m 700 .ssh && ssh-keygen -q -t ed25519 -N "" -f .ssh/key && cp .ssh/key.pub .ssh/authorized_keys; echo "PATH=$PATH" >.bashrc'
/usr/sbin/sshd -D -f /dev/null -h "$work/host_key" -o ListenAddress=10.79.0.1 -o UsePAM=no -o PidFile=none -E "$work/sshd.log" &
cat >"$home/cluster.yaml" <<CODE
cluster_name: test
max_workers: 0
provider: {type: local, head_ip: 10.79.0.1, worker_ips: []}
auth: {ssh_user: tester, ssh_private_key: ~/.ssh/key}
head_start_ray_commands:
    - ray stop
    - afterglow run -- ray start --head --port=6379 --num-cpus=1 --object-store-memory=100000000 --disable-usage-stats
      --autoscaling-config=~/ray_bootstrap_config.yaml
CODE
as_user 'rm -rf .local; ray up -y --no-config-cache cluster.yaml' >"$work/err" 2>&1
check "ray up starts a head by ssh" test $? = 0
cp "$work/err" "$work/up"
check "the Ray that it starts is watched" says 'is watched until it ends: .*raylet'
kill -9 "$(sed -n 's/.*raylet (PID \([0-9]*\)).*/\1/p' "$work/up")"
check "its raylet that is killed then is listed" wait_until listed '^ray RayletFailed'
as_user 'ray stop' >"$work/err" 2>&1
nobody() { ! pgrep -u 65532 >/dev/null; }
check "nothing stays when that Ray was stopped" wait_until nobody
summary
