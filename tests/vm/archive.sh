# shellcheck shell=bash
# Debian's archives as this machine's own apt sources name them: . tests/vm/archive.sh

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Print the address of the Debian archive with the given label.
archive_site()
{
	# shellcheck disable=SC2016 # for apt to expand
	apt-get indextargets --format '$(LABEL)|$(SITE)' 'Origin: Debian' 'Created-By: Packages' \
		2>/dev/null | awk -F'|' -v label="$1" '$1 == label { print $2; exit }'
}

# archive_sources SUITE...: the lines of a sources.list; fails where this machine has no archive.
archive_sources()
{
	local suite main security by=

	main=$(archive_site Debian)
	[ -n "$main" ] || return 1
	security=$(archive_site Debian-Security)
	[ -n "$security" ] || security=${main%/}-security
	[ -r "$keyring" ] && by="[signed-by=$keyring] "

	for suite; do
		case $suite in
		*-security) echo "deb $by$security $suite main" ;;
		*) echo "deb $by$main $suite main" ;;
		esac
	done
}
