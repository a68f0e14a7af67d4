// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "allocfilt/base/file.h"

#define FILE_FIRST_SIZE 4096

int file_reopen(int fd)
{
	struct stat status;
	char path[32];

	if (fstat(fd, &status))
		return -errno;
	/* A pseudo-terminal's other end would be that of a new one. */
	if (!S_ISFIFO(status.st_mode) && (!isatty(fd) || status.st_rdev == makedev(5, 2)))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t file_write_now(int fd, const char *text, size_t length)
{
	ssize_t written = send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (written < 0 && errno == ENOTSOCK)
		written = write(fd, text, length);
	return written < 0 ? -errno : written;
}

/* openat2(2) could refuse links in one call, but is refused itself before 5.6 and in older containers. */
int file_open_folder(int dir, const char *path, bool make, const char **ret_name)
{
	int folder = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ret = folder < 0 ? -errno : 0;
	struct stat status;
	const char *slash;

	for (; !ret && (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		int next = -1;

		if (snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path) > NAME_MAX)
			ret = -ENAMETOOLONG;
		else if (make && mkdirat(folder, name, 0700) && errno != EEXIST)
			ret = -errno;
		else
			next = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (!ret && next < 0)
			ret = -errno;
		if (ret == -ENOTDIR && !fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(status.st_mode))
			ret = -ELOOP;
		close(folder);
		folder = next;
	}
	*ret_name = path;
	return ret ? ret : folder;
}

int file_open(const char *dir, const char *path, int64_t most)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
	int top = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
	int folder = AT_FDCWD, fd, ret;
	struct stat status;

	if (dir && top < 0)
		return -errno;
	if (dir) {
		folder = file_open_folder(top, path, false, &path);
		close(top);
		if (folder < 0)
			return folder;
	}
	fd = (int)TEMP_FAILURE_RETRY(openat(folder, path, flags));
	ret = fd < 0 ? -errno : 0;
	if (dir)
		close(folder);
	if (ret)
		return ret;
	if (fstat(fd, &status))
		ret = -errno;
	else if (S_ISDIR(status.st_mode))
		ret = -EISDIR;
	else if (!S_ISREG(status.st_mode))
		ret = -EMEDIUMTYPE;
	else if (status.st_size > most)
		ret = -EFBIG;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

const char *file_error(int error)
{
	if (error == ELOOP)
		return "a symbolic link, which is not followed";
	return error == EMEDIUMTYPE ? "not a regular file" : strerror(error);
}

int file_read_fd(int fd, char **ret_text, size_t *ret_length)
{
	char *text = NULL;
	size_t size = 0, length = 0;
	ssize_t got = 1;
	int ret = fd < 0 ? fd : 0;

	while (!ret && got) {
		/* The buffer has room for one more byte, and for the NUL. */
		if (length + 1 >= size) {
			char *grown;

			size = size ? size * 2 : FILE_FIRST_SIZE;
			grown = size <= FILE_TEXT_MAX ? realloc(text, size) : NULL;
			if (!grown) {
				ret = size <= FILE_TEXT_MAX ? -ENOMEM : -EFBIG;
				break;
			}
			text = grown;
		}
		got = read(fd, text + length, size - length - 1);
		if (got > 0)
			length += got;
		else if (got < 0 && errno != EINTR)
			ret = -errno;
	}
	file_close(fd);
	if (ret) {
		free(text);
		return ret;
	}
	text[length] = '\0';
	*ret_text = text;
	if (ret_length)
		*ret_length = length;
	return 0;
}

int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length)
{
	return file_read_fd(file_open(dir, path, FILE_TEXT_MAX), ret_text, ret_length);
}

int file_read_at(int fd, void *to, size_t size, off_t at, size_t *ret_length)
{
	size_t length = 0;
	ssize_t part = 1;

	while (length < size && part) {
		part = pread(fd, (char *)to + length, size - length, at + (off_t)length);
		if (part > 0)
			length += part;
		else if (part < 0 && errno != EINTR)
			break;
	}
	*ret_length = length;
	return part < 0 && length < size ? -errno : 0;
}

size_t file_read_start(int fd, char *text, size_t size)
{
	size_t length;

	file_read_at(fd, text, size - 1, 0, &length);
	file_close(fd);
	text[length] = '\0';
	return length;
}

int file_write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t wrote = write(fd, text, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote ? -errno : -EIO;
		text += wrote;
		length -= wrote;
	}
	return 0;
}

int file_open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (!**ret_name)
		return *path ? -EISDIR : -ENOENT;
	/* The directory keeps its slash: "/" is the whole path of the directory of /NAME. */
	if (slash && snprintf(dir, sizeof(dir), "%.*s", (int)(*ret_name - path), path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int file_make_directory(const char *path)
{
	char dir[PATH_MAX];
	size_t length = strlen(path);
	int fd;

	/* A path that ends in a slash would follow a link. */
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (snprintf(dir, sizeof(dir), "%.*s", (int)length, path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *file_distrust(int fd, mode_t type)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if ((st.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "is not a directory" : "is not a regular file";
	if (st.st_uid != geteuid())
		return "is another user's";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others";
	if (type == S_IFREG && st.st_nlink > 1)
		return "has another name (hard link)";
	return NULL;
}

int file_replace_begin(struct file_replacement *file, int dir, const char *name, mode_t mode)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : S_ISLNK(st.st_mode) ? -ELOOP : -EMEDIUMTYPE;
	file->dir = dir;
	file->name = name;
	if (snprintf(file->temporary, sizeof(file->temporary), ".%s.allocfilt", name) >=
	    (int)sizeof(file->temporary))
		return -ENAMETOOLONG;
	if (unlinkat(dir, file->temporary, 0) && errno != ENOENT)
		return -errno;
	file->fd = openat(dir, file->temporary,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return -errno;
	return fchmod(file->fd, mode) ? file_replace_end(file, -errno, false) : 0;
}

int file_replace_end(struct file_replacement *file, int ret, bool sync)
{
	if (!ret && sync && fsync(file->fd))
		ret = -errno;
	/* Some file systems report a full disk only at close(2). */
	if (close(file->fd) && !ret)
		ret = -errno;
	if (!ret && renameat(file->dir, file->temporary, file->dir, file->name))
		ret = -errno;
	if (ret)
		unlinkat(file->dir, file->temporary, 0);
	return ret;
}

int file_replace(int dir, const char *name, const char *text, size_t length, bool sync)
{
	struct file_replacement file;
	int ret = file_replace_begin(&file, dir, name, 0600);

	if (ret)
		return ret;
	return file_replace_end(&file, file_write_all(file.fd, text, length), sync);
}
