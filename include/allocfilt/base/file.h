/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_FILE_H
#define ALLOCFILT_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Files. Functions return 0 or -errno, if they do not say otherwise. @path is below @dir, or by
 * itself if @dir is NULL.
 */

#define FILE_TEXT_MAX (64 << 20) /* bytes: larger than any text that we read */

/**
 * file_open - open a regular file for reading; never waits
 * @most: bytes; the kernel's own files have a size of 0
 *
 * A capture may come from anybody: opening a FIFO would wait for its writer, a device may have no
 * end, and a link below @dir may lead to any file. Returns a descriptor or -errno: -ELOOP for a
 * symbolic link, -EISDIR, -EMEDIUMTYPE for anything else that is not a regular file, -EFBIG for a
 * larger file.
 */
int file_open(const char *dir, const char *path, int64_t most);

/**
 * file_open_folder - open the directory of a file below another directory, for the *at() calls (O_PATH)
 * @make: make directories (0700) that are missing
 * @ret_name: the file's name in it, a part of @path
 *
 * Returns a descriptor, or -errno (-ELOOP: a symbolic link on the way, which is not followed).
 */
int file_open_folder(int dir, const char *path, bool make, const char **ret_name);

/** file_close - close(2), but nothing for a file that could not be opened, whose descriptor is negative */
static inline void file_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/** file_error - strerror(3) for a failure of file_open() or file_read(); @error: positive */
const char *file_error(int error);

/**
 * file_read - read a whole file into a buffer with a NUL after it; free() it
 * @ret_length: without the NUL; NULL where it is not needed
 *
 * Opened as by file_open(). -EFBIG for more than FILE_TEXT_MAX.
 */
int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length);

/** file_read_fd - the same from a descriptor, which is closed; or the -errno of opening it */
int file_read_fd(int fd, char **ret_text, size_t *ret_length);

/**
 * file_read_at - pread() until there are @size bytes, also after EINTR
 * @ret_length: bytes that were read, even after a failure; at the end of the file less than @size
 */
int file_read_at(int fd, void *to, size_t size, off_t at, size_t *ret_length);

/**
 * file_read_start - read a text, or the start of a long one, with a NUL after it; allocates nothing
 * @fd: is closed; negative: the file could not be opened
 *
 * Returns the length without the NUL; 0 where nothing can be read.
 */
size_t file_read_start(int fd, char *text, size_t size);

/** file_write_all - write() until all is written, also after EINTR */
int file_write_all(int fd, const char *text, size_t length);

/**
 * file_reopen - a description of our own, which never blocks, of a terminal, pipe or FIFO
 *
 * The one that we were given is shared with other programs, which want it as it is. poll(2) is no way
 * out: a terminal is ready with room for one byte, and then write(2) waits for the rest. Returns a
 * descriptor, or -errno: -EINVAL for anything else, -ENXIO for a pipe without a reader, -EACCES where it
 * is another user's.
 */
int file_reopen(int fd);

/**
 * file_write_now - write(2) that does not wait on a socket, nor on a descriptor of file_reopen()
 *
 * Returns the bytes that were written, or -errno (-EAGAIN: there is no room).
 */
ssize_t file_write_now(int fd, const char *text, size_t length);

/*
 * Another user may be able to write in the directory of an output file. He must not make us write,
 * truncate or change a file that he cannot write himself. So a directory is opened once, its files
 * are opened by its descriptor and a name without a slash, and no link in it is followed. Links in
 * the directory's own path are followed: our user chose it.
 */

/**
 * file_open_parent - open the directory of a path for the *at() calls (O_PATH)
 * @ret_name: the name in it, a part of @path
 *
 * Returns a descriptor, or -errno (-EISDIR: no name after the last slash).
 */
int file_open_parent(const char *path, const char **ret_name);

/**
 * file_make_directory - make a directory (0700) unless it exists, and open it
 *
 * Returns a descriptor, or -errno (-ENOTDIR: also for a symbolic link). file_distrust() tells whether
 * a directory that existed is ours alone.
 */
int file_make_directory(const char *path);

/**
 * file_distrust - why another user could change a file or directory: "is another user's"
 * @type: S_IFREG or S_IFDIR; another type is a reason as well
 *
 * Returns NULL if no other user can.
 */
const char *file_distrust(int fd, mode_t type);

/**
 * file_replace - write a file anew, mode 0600: a reader sees the old text or the new one, whole
 * @dir: descriptor of its directory, which may be another user's
 * @name: without a slash
 * @sync: fsync() it before the rename, for a file that has to survive a crash
 *
 * The text goes to .NAME.allocfilt in the same directory, which is then renamed. A file that has that
 * name already, from a killed run or from somebody else, is removed, and a link is not followed. Only
 * a regular file is replaced: root would else lose /dev/null or /dev/stdout. After a failure the file
 * has its old text. Errors are those of file_open(), for file_error().
 */
int file_replace(int dir, const char *name, const char *text, size_t length, bool sync);

/* file_replace() in two steps, for a text that is written piece by piece. Allocates nothing. */
struct file_replacement {
	int fd; /* write the new text here */
	int dir;
	const char *name; /* not copied */
	char temporary[NAME_MAX + 1];
};

/**
 * file_replace_begin - open the temporary file
 * @mode: of the new file, whatever the umask is
 *
 * After a failure there is no temporary file.
 */
int file_replace_begin(struct file_replacement *file, int dir, const char *name, mode_t mode);

/**
 * file_replace_end - rename the new file into place, or remove it where @ret is a failure
 *
 * Call it after each successful file_replace_begin(). Returns @ret if it is not 0.
 */
int file_replace_end(struct file_replacement *file, int ret, bool sync);

#endif
