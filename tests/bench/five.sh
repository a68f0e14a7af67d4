# shellcheck shell=sh
# Five troubles on slow disks, each for a task in a cgroup of its own, for guests of tests/bench that
# have read in /guest.sh: . /five.sh

# shellcheck disable=SC2034 # for qemu: the host has SLOW_DISKS from here
SLOW_DISKS="-set drive.a.throttling.iops-total=800 -set drive.b.throttling.iops-total=300"

# disk_of DIR: the one that is mounted there
disk_of()
{
	sed -n "s,^/dev/\([^ ]*\) $1 .*,\1,p" /proc/mounts
}

# trouble NAME FILE VALUE ARGS...: `felt ARGS` in cgroup NAME whose FILE has that VALUE; the name, and what it says
trouble()
{
	name=$1 cgroup=/sys/fs/cgroup/$1
	mkdir "$cgroup"
	echo "$3" >"$cgroup/$2"
	echo 3 >/proc/sys/vm/drop_caches
	shift 3
	said=$(cgroup_run "$cgroup" felt "$@") || die "felt $*" >&2
	echo "$name $said"
}

# Before anything is traced.
prepare_five()
{
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	dd if=/dev/zero of=/mnt/a/small bs=1M count=5 2>/dev/null
	dd if=/dev/zero of=/mnt/a/large bs=1M count=64 2>/dev/null
	sync
	swap_disk=$(disk_of /mnt/b)
	umount /mnt/b
	mkswap "/dev/$swap_disk" >/dev/null
}

# five MS: that long, those that are not over when they have what they want
five()
{
	# Without readahead each page is a read of its own.
	echo 0 >"/sys/block/$(disk_of /mnt/a)/queue/read_ahead_kb"
	trouble refault memory.max 4M reread /mnt/a/small "$1"
	trouble high memory.high 8M grow 9
	swapon "/dev/$swap_disk"
	# That takes 5 s to write it.
	trouble swap memory.max 4M swap 5 $(($1 + 5000))
	swapoff "/dev/$swap_disk"
	echo 128 >"/sys/block/$(disk_of /mnt/a)/queue/read_ahead_kb"
	trouble short memory.max max short /mnt/a/large 28 "$1"
	for file in enabled defrag; do
		echo always >/sys/kernel/mm/transparent_hugepage/$file
	done
	felt fragment 32 0 >/tmp/fragmented &
	fragments=$!
	wait_for 100 [ -s /tmp/fragmented ] || die "no fragments" >&2
	trouble huge memory.max max huge 128
	kill -9 "$fragments"
}
