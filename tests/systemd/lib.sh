# shellcheck shell=sh
# For scripts that run inside the virtual machine, under systemd: . /lib.sh
#
# What `make install PREFIX=/usr` places is in /installed, and gets into the system by installed().

# shellcheck source=tests/vm/restore.sh
. /restore.sh

UNIT=allocfilt.service
DROP_INS=/run/systemd/system/$UNIT.d
MARK=/tmp/mark

# installed: the program, its unit and what goes with them, as they come.
installed()
{
	cp -a /installed/. /
	systemctl daemon-reload
}

# configure LINE...: /etc/allocfilt.conf of these lines alone
configure()
{
	printf '%s\n' "$@" >/etc/allocfilt.conf
}

# override NAME LINE...: a drop-in of that name for the unit, in section [Service]
override()
{
	mkdir -p "$DROP_INS"
	_drop_in=$DROP_INS/$1.conf
	shift
	printf '%s\n' '[Service]' "$@" >"$_drop_in"
	systemctl daemon-reload
}

# override_end NAME
override_end()
{
	rm -f "$DROP_INS/$1.conf"
	systemctl daemon-reload
}

# service VERB: systemctl; what it says goes to /tmp/err, which check() shows.
service()
{
	timeout 300 systemctl "$1" $UNIT >/tmp/err 2>&1
}

# property NAME: of the unit, as systemctl show knows it (MainPID, SubState, Result, NRestarts)
property()
{
	systemctl show -P "$1" $UNIT
}

# is NAME VALUE: the property has that value
is()
{
	[ "$(property "$1")" = "$2" ]
}

# is_other NAME VALUE: another one
is_other()
{
	! is "$1" "$2"
}

# In the unit's cgroup (memory.peak, memory.events): service_memory FILE
service_memory()
{
	cat "/sys/fs/cgroup/system.slice/$UNIT/$1"
}

# journal_mark: what is in the journal before does not count for journal() and the like. By time:
# --after-cursor= leaves out one entry too many where the cursor's own is of another unit.
journal_mark()
{
	journalctl --sync
	date +@%s.%6N >$MARK
}

# journal ARGS...: journalctl over the entries since journal_mark()
journal()
{
	journalctl --sync
	[ ! -s $MARK ] || set -- --since="$(cat $MARK)" "$@"
	journalctl -q --no-pager "$@"
}

# journal_has MATCH...: is there such an entry (FIELD=VALUE, or -u UNIT)?
journal_has()
{
	[ -n "$(journal -n 1 -o json "$@")" ]
}

# journal_says TEXT [MATCH...]: is there an entry of the unit, or of MATCH, with that text?
journal_says()
{
	_text=$1
	shift
	[ $# -gt 0 ] || set -- -u $UNIT
	journal -o cat "$@" | grep -qF -- "$_text"
}

# journal_field FIELD MATCH...: its values, a line each
journal_field()
{
	_field=$1
	shift
	journal -o cat --output-fields="$_field" "$@"
}

# pressure_unit NAME MIB ARGS...: `pressure ARGS` as NAME.service with that MemoryMax=: the stalls
# are those of that unit, and the rest of the machine stays quick
pressure_unit()
{
	_name=$1 _most=$2
	shift 2
	systemd-run -q --unit="$_name" --slice=system.slice -p "MemoryMax=${_most}M" \
		/usr/local/bin/pressure "$@"
}

runs_again()
{
	is_other MainPID "$1" && is_other MainPID 0 && is ActiveState active
}

# killed NAME SIGNAL: systemd starts it again, and in between tracing is restored
killed()
{
	pid=$(property MainPID)
	journal_mark
	kill "-$2" "$pid"
	check "starts-again-after-$1" wait_for 200 runs_again "$pid"
	check "restored-after-$1" journal_says "what process $pid left behind"
}

# lacks COMMAND...: succeeds if it fails
lacks()
{
	! "$@"
}

# keep NAME: what the unit said, for a look from outside
keep()
{
	mkdir -p /out
	journal -u $UNIT >"/out/$1.log"
}
